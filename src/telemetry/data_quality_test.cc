#include "telemetry/data_quality.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace idleburn {
namespace {

TEST(DataQualityTest, TheTableIsInOrderAndComplete) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kQualityCount; ++i) {
    const QualityInfo& info = kQualityTable[i];
    EXPECT_EQ(static_cast<std::size_t>(info.id), i) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(info.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << info.name;
    EXPECT_GT(info.sentence.size(), 10U) << info.name;
  }
  EXPECT_EQ(Name(Severity::kInfo), "info");
  EXPECT_EQ(Name(Severity::kWarn), "warn");
  EXPECT_EQ(Name(Severity::kError), "error");
}

TEST(DataQualityTest, KeepsTheFirstPlace) {
  const std::string file = "a.csv";
  const std::string other = "b.csv";
  DataQuality quality;
  quality.Count(QualityId::kBadRow, {&file, 0}, 0);  // none is no first place
  quality.Count(QualityId::kBadRow, {&file, 17});
  quality.Count(QualityId::kBadRow, {&other, 3}, 4);
  EXPECT_EQ(quality.CountOf(QualityId::kBadRow), 5);
  EXPECT_EQ(quality.Get(QualityId::kBadRow).first_place, "a.csv:17");
  quality.Count(QualityId::kTruncatedInput, {&file, 0});
  EXPECT_EQ(quality.Get(QualityId::kTruncatedInput).first_place, "a.csv");
  EXPECT_EQ(quality.CountOf(QualityId::kTornRow), 0);
}

TEST(DataQualityTest, MergesLikeOneLedger) {
  const std::string file = "a.csv";
  DataQuality whole;
  DataQuality first;
  DataQuality second;
  for (DataQuality* ledger : {&whole, &first}) ledger->CountNamed(QualityId::kUnknownColumn, "fan.speed");
  for (DataQuality* ledger : {&whole, &second}) {
    ledger->CountNamed(QualityId::kUnknownColumn, "pstate", {&file, 1});
    ledger->Count(QualityId::kBadRow, {&file, 9}, 2);
  }
  first.Merge(second);
  for (const QualityInfo& info : kQualityTable) {
    EXPECT_EQ(first.CountOf(info.id), whole.CountOf(info.id)) << info.name;
    EXPECT_EQ(first.Get(info.id).names, whole.Get(info.id).names) << info.name;
  }
  EXPECT_EQ(first.Get(QualityId::kBadRow).first_place, "a.csv:9");
}

TEST(DataQualityTest, DescribesForPeople) {
  const std::string file = "a.csv";
  DataQuality quality;
  quality.CountNamed(QualityId::kUnknownColumn, "pstate", {&file, 1});
  quality.CountNamed(QualityId::kUnknownColumn, "fan.speed", {&file, 1});
  quality.CountNamed(QualityId::kUnknownColumn, "pstate", {&file, 1});
  const QualityInfo& info = kQualityTable[static_cast<std::size_t>(QualityId::kUnknownColumn)];
  EXPECT_EQ(Describe(info, quality.Get(QualityId::kUnknownColumn)),
            "3 columns are not used: fan.speed, pstate (first at a.csv:1)");
}

TEST(DataQualityTest, SaysOneAsOne) {
  const auto text = [](QualityId id, std::int64_t count) {
    DataQuality quality;
    quality.Count(id, {}, count);
    return Describe(kQualityTable[static_cast<std::size_t>(id)], quality.Get(id));
  };
  EXPECT_EQ(text(QualityId::kSingleSample, 1), "1 device has only one sample; a single reading covers no time");
  EXPECT_EQ(text(QualityId::kSingleSample, 2), "2 devices have only one sample; a single reading covers no time");
  EXPECT_EQ(text(QualityId::kPriceStale, 1), "1 price is older than 90 days; check it");
  for (const QualityInfo& info : kQualityTable) {
    for (const std::int64_t count : {1, 2}) {
      EXPECT_EQ(text(info.id, count).find_first_of("{|}"), std::string::npos) << info.name;
    }
    EXPECT_NE(text(info.id, 1).substr(1), text(info.id, 2).substr(1)) << info.name;
  }
}

// A hostile input cannot fill memory with names.
TEST(DataQualityTest, BoundsTheNamesKept) {
  DataQuality quality;
  for (int i = 0; i < 1000; ++i)
    quality.CountNamed(QualityId::kUnknownMetric, std::to_string(i) + std::string(1000, 'x'));
  const DataQuality::Row& row = quality.Get(QualityId::kUnknownMetric);
  EXPECT_EQ(row.count, 1000);
  EXPECT_EQ(row.names.size(), 12U);
  EXPECT_EQ(row.names.begin()->size(), 243U);
  EXPECT_EQ(row.names.begin()->substr(240), "...");  // it says that it was cut
  const std::string text = Describe(kQualityTable[static_cast<std::size_t>(QualityId::kUnknownMetric)], row);
  EXPECT_NE(text.find(", ..."), std::string::npos);
}

}  // namespace
}  // namespace idleburn
