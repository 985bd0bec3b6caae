#include "history/ledger.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/history_folder.h"

namespace idleburn {

namespace {

using test::HistoryFolder;

LedgerRow Compared(const std::string& claim) {
  LedgerRow row;
  row.written = Instant::FromNanos(42);
  row.tool = "idleburn 0.1.0";
  row.kind = "compared";
  row.claim = claim;
  row.boundary = "train resnet";
  row.unit = "step";
  row.measure = "num_workers";
  row.verdict = "VERIFIED";
  row.retrospective = 0;
  row.predicted = 0.3;
  row.bound = 0.375;
  row.fraction = 0.28;
  row.low = 0.2;
  row.high = 0.36;
  row.avoided_gpu_seconds = 1234.5;
  row.currency = "USD";
  row.cashable_nano = 80'000'000'000;
  row.freed_gpu_hours = 16;
  row.inputs = {{"before", "a.idleburn", "00"}, {"after", "history:12", ""}};
  return row;
}

TEST(LedgerTest, RowsComeBackInTheOrderInWhichTheyWereWritten) {
  const HistoryFolder folder;
  SqliteDatabase history = folder.Open();
  ASSERT_TRUE(AppendToLedger(history, Compared("c1")));
  LedgerRow claimed;
  claimed.kind = "claimed";
  claimed.tool = "t";
  claimed.claim = "c2";
  claimed.inputs = {{"baseline", "b", "01"}};
  ASSERT_TRUE(AppendToLedger(history, claimed));
  const std::vector<LedgerRow> rows = ReadLedger(history).value();
  ASSERT_EQ(rows.size(), 2U);
  const LedgerRow expected = Compared("c1");
  EXPECT_EQ(rows[0].row, 1);
  EXPECT_EQ(rows[0].written, expected.written);
  EXPECT_EQ(rows[0].verdict, "VERIFIED");
  EXPECT_EQ(rows[0].retrospective, 0);
  EXPECT_EQ(rows[0].bound, 0.375);
  EXPECT_EQ(rows[0].low, 0.2);
  EXPECT_EQ(rows[0].avoided_gpu_seconds, 1234.5);
  EXPECT_EQ(rows[0].cashable_nano, 80'000'000'000);
  EXPECT_EQ(rows[0].freed_gpu_hours, 16);
  EXPECT_FALSE(rows[0].corrects);
  ASSERT_EQ(rows[0].inputs.size(), 2U);
  EXPECT_EQ(rows[0].inputs[1].name, "history:12");
  EXPECT_EQ(rows[1].row, 2);
  ASSERT_EQ(rows[1].inputs.size(), 1U);
  EXPECT_EQ(rows[1].inputs[0].sha256, "01");
}

TEST(LedgerTest, AClaimIsWrittenOnceAndAComparisonEachTime) {
  const HistoryFolder folder;
  SqliteDatabase history = folder.Open();
  LedgerRow claimed;
  claimed.kind = "claimed";
  claimed.tool = "t";
  claimed.claim = "c";
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(AppendToLedger(history, claimed));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(AppendToLedger(history, Compared("c")));
  EXPECT_EQ(ReadLedger(history)->size(), 3U);
}

TEST(LedgerTest, NothingChangesWhatWasWritten) {
  const HistoryFolder folder;
  SqliteDatabase history = folder.Open();
  ASSERT_TRUE(AppendToLedger(history, Compared("c")));
  for (const char* sql :
       {"UPDATE ledger SET verdict = 'INVALID'", "DELETE FROM ledger", "UPDATE ledger_inputs SET sha256 = 'ff'",
        "DELETE FROM ledger_inputs", "INSERT OR REPLACE INTO ledger_inputs VALUES (1, 0, 'x', 'y', NULL)",
        "INSERT OR REPLACE INTO ledger (row, written_ns, tool, kind, claim) VALUES (1, 1, 'x', "
        "'compared', 'z')"}) {
    const Result<void> changed = history.Execute(sql);
    EXPECT_FALSE(changed) << sql;
  }
  EXPECT_EQ(ReadLedger(history)->at(0).verdict, "VERIFIED");
  EXPECT_EQ(ReadLedger(history)->at(0).inputs.at(0).side, "before");
}

// A small ledger, written as a story.
class Story {
 public:
  Story& Claim(const std::string& claim, double predicted, const std::string& boundary = "jobs") {
    LedgerRow& row = Add("claimed", claim, boundary);
    row.predicted = predicted;
    return *this;
  }
  Story& Compare(const std::string& claim, const std::string& verdict, double fraction,
                 const std::string& boundary = "jobs") {
    LedgerRow& row = Add("compared", claim, boundary);
    row.verdict = verdict;
    row.fraction = fraction;
    row.predicted = 0.4;
    row.bound = 0.5;
    row.currency = "USD";
    row.cashable_nano = static_cast<std::int64_t>(fraction * 1e11);
    row.freed_gpu_hours = 1;
    return *this;
  }
  Story& Correct(std::int64_t number) {
    Add("correction", rows_[static_cast<std::size_t>(number - 1)].claim, "").corrects = number;
    return *this;
  }
  [[nodiscard]] LedgerView View() const { return ViewLedger(rows_); }
  std::vector<LedgerRow> rows_;

 private:
  LedgerRow& Add(const std::string& kind, const std::string& claim, const std::string& boundary) {
    LedgerRow row;
    row.row = static_cast<std::int64_t>(rows_.size()) + 1;
    row.written = Instant::FromNanos(row.row);
    row.kind = kind;
    row.claim = claim;
    row.boundary = boundary;
    row.measure = "num_workers";
    rows_.push_back(row);
    return rows_.back();
  }
};

Standing Of(const LedgerView& view, std::size_t line = 0) { return view.lines.at(line).standing; }

TEST(LedgerViewTest, AClaimIsNoSaving) {
  const LedgerView view = Story().Claim("a", 0.4).View();
  EXPECT_EQ(Of(view), Standing::kClaimed);
  EXPECT_FALSE(view.totals.contains(Standing::kVerified));
  EXPECT_TRUE(view.levers.empty());
}

TEST(LedgerViewTest, TheLastVerdictOfAClaimDecides) {
  EXPECT_EQ(Of(Story().Claim("a", 0.4).Compare("a", "VERIFIED", 0.3).View()), Standing::kVerified);
  EXPECT_EQ(Of(Story().Claim("a", 0.4).Compare("a", "INDICATED", 0.3).View()), Standing::kNotShown);
  for (const char* verdict : {"REGRESSION", "INDICATED_REGRESSION", "NOT_SHOWN", "INDICATED"}) {
    Story story;
    story.Claim("a", 0.4).Compare("a", "VERIFIED", 0.3).Compare("a", verdict, -0.1);
    EXPECT_EQ(Of(story.View()), Standing::kLost) << verdict;
    EXPECT_EQ(story.View().lines[0].fraction, 0.3) << verdict;  // what is lost
    EXPECT_EQ(story.View().lines[0].lost, Instant::FromNanos(3));
    EXPECT_EQ(Of(story.Compare("a", "VERIFIED", 0.2).View()), Standing::kVerified);
    EXPECT_FALSE(story.View().lines[0].lost);
  }
  // What cannot be judged says nothing.
  const LedgerView invalid = Story().Claim("a", 0.4).Compare("a", "VERIFIED", 0.3).Compare("a", "INVALID", 0).View();
  EXPECT_EQ(Of(invalid), Standing::kVerified);
  EXPECT_EQ(invalid.lines[0].verdict, "VERIFIED");
}

TEST(LedgerViewTest, ARegressionOfTheSameJobsLosesWhatWasVerified) {
  Story story;
  story.Claim("a", 0.4).Compare("a", "VERIFIED", 0.3).Claim("b", 0.4);
  EXPECT_EQ(Of(Story(story).Compare("b", "REGRESSION", -0.2).View()), Standing::kLost);
  EXPECT_EQ(Of(Story(story).Compare("b", "NOT_SHOWN", 0).View()), Standing::kVerified);
  EXPECT_EQ(Of(Story(story).Compare("b", "REGRESSION", -0.2, "others").View()), Standing::kVerified);
}

TEST(LedgerViewTest, ACorrectedRowDoesNotCount) {
  const LedgerView view = Story().Claim("a", 0.4).Compare("a", "VERIFIED", 0.3).Correct(2).View();
  EXPECT_EQ(Of(view), Standing::kClaimed);
  EXPECT_TRUE(view.levers.empty());
}

TEST(LedgerViewTest, CashAndFreedCapacityAreSummedApartAndByCurrency) {
  Story story;
  story.Compare("a", "VERIFIED", 0.3).Compare("b", "VERIFIED", 0.2).Compare("c", "VERIFIED", 0.1);
  story.rows_[2].currency = "EUR";
  const LedgerView view = story.View();
  const auto& verified = view.totals.at(Standing::kVerified);
  EXPECT_EQ(verified.at("USD").cashable_nano, 50'000'000'000);
  EXPECT_EQ(verified.at("USD").freed_gpu_hours, 2);
  EXPECT_EQ(verified.at("USD").lines, 2);
  EXPECT_EQ(verified.at("EUR").cashable_nano, 10'000'000'000);
}

TEST(LedgerViewTest, ALeverIsLearntOfFromWhatWasSettledEitherWay) {
  Story story;
  story.Compare("a", "VERIFIED", 0.3).Compare("b", "VERIFIED", 0.6).Compare("c", "REGRESSION", -0.2);
  story.Compare("d", "NOT_SHOWN", 0.1).Compare("e", "INDICATED", 0.2).Claim("f", 0.9);
  story.Compare("g", "VERIFIED", 0.25).Compare("g", "NOT_SHOWN", 0.01);  // lost again; it had been given back
  story.Compare("h", "VERIFIED", 0.3);
  story.rows_.back().retrospective = 1;  // promised nothing before the change
  const LedgerView view = story.View();
  ASSERT_EQ(view.levers.size(), 1U);
  const LeverOutcome& lever = view.levers[0];
  EXPECT_EQ(lever.verified, 3);
  EXPECT_EQ(lever.regressions, 1);
  EXPECT_EQ(lever.pairs, 4);
  EXPECT_DOUBLE_EQ(lever.predicted, 1.6);
  EXPECT_DOUBLE_EQ(lever.realised, 0.3 + 0.6 - 0.2 + 0.25);
  ASSERT_EQ(lever.shares.size(), 4U);
  EXPECT_DOUBLE_EQ(lever.shares[0], 0.6);
  EXPECT_DOUBLE_EQ(lever.shares[1], 1);  // more than the bound
  EXPECT_DOUBLE_EQ(lever.shares[2], 0);
  EXPECT_DOUBLE_EQ(lever.shares[3], 0.5);
}

}  // namespace

}  // namespace idleburn
