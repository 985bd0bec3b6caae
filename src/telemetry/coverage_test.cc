#include "telemetry/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace idleburn {
namespace {

using Spans = std::vector<std::pair<int, int>>;  // seconds, [from, to)

std::vector<int> StampsOf(const Spans& spans, int step = 1) {
  std::vector<int> stamps;
  for (const auto& [from, to] : spans) {
    for (int t = from; t < to; t += step) stamps.push_back(t);
  }
  return stamps;
}

Coverage Of(const std::vector<int>& stamps) {
  Coverage coverage;
  for (const int t : stamps) coverage.See(Instant::FromNanos(t * kNanosPerSecond));
  coverage.Settle();
  return coverage;
}

double Overlap(const Coverage& a, const Coverage& b) {
  EXPECT_EQ(Coverage::Overlap(a, b), Coverage::Overlap(b, a));
  return static_cast<double>(Coverage::Overlap(a, b).count()) / 1e9;
}

TEST(CoverageTest, OverlapsFromTheLaterBeginToTheEarlierEnd) {
  const Coverage a = Of(StampsOf({{0, 101}}));
  EXPECT_EQ(Overlap(a, Of(StampsOf({{50, 200}}))), 50);
  EXPECT_EQ(Overlap(a, Of(StampsOf({{20, 31}}))), 10);
  EXPECT_EQ(Overlap(a, Of(StampsOf({{100, 200}}))), 0);
  EXPECT_EQ(Overlap(a, Of(StampsOf({{300, 400}}))), 0);
  EXPECT_EQ(Overlap(a, Coverage()), 0);
  EXPECT_EQ(a.Step(), Nanos(kNanosPerSecond));
}

TEST(CoverageTest, APauseIsNotCovered) {
  const Coverage days = Of(StampsOf({{0, 1001}, {2000, 3001}, {4000, 5001}}));
  EXPECT_EQ(Overlap(days, Of(StampsOf({{1000, 2001}, {3000, 4001}}))), 0);
  EXPECT_EQ(Overlap(days, Of(StampsOf({{900, 2101}, {3000, 4001}}))), 200);
  EXPECT_EQ(days.Step(), Nanos(kNanosPerSecond)) << "pauses apart";
}

// Readings that are far apart, all of them, are no pauses: two such logs do overlap.
TEST(CoverageTest, SlowReadingsArePausesOfNothing) {
  EXPECT_EQ(Overlap(Of(StampsOf({{0, 6001}}, 600)), Of(StampsOf({{300, 6301}}, 600))), 5700);
}

TEST(CoverageTest, TheOrderOfTheReadingsDecidesNothing) {
  std::vector<int> stamps = StampsOf({{0, 1001}, {2000, 3001}});
  const Coverage middle = Of(StampsOf({{950, 2051}}));
  std::reverse(stamps.begin(), stamps.end());
  EXPECT_EQ(Overlap(Of(stamps), middle), 100);
  std::rotate(stamps.begin(), stamps.begin() + 700, stamps.end());
  EXPECT_EQ(Overlap(Of(stamps), middle), 100);
  std::vector<int> twice = stamps;  // two series of one device
  twice.insert(twice.end(), stamps.begin(), stamps.end());
  EXPECT_EQ(Overlap(Of(twice), middle), 100);
  std::vector<int> filled = stamps;  // what seemed a pause has readings after all
  for (int t = 1001; t < 2000; ++t) filled.push_back(t);
  EXPECT_EQ(Overlap(Of(filled), middle), 1100);
}

TEST(CoverageTest, TimesOfNoCalendarDoNotOverflow) {
  Coverage all;
  for (const std::int64_t t : {INT64_MIN, INT64_MAX, std::int64_t{0}}) all.See(Instant::FromNanos(t));
  all.Settle();
  EXPECT_EQ(Overlap(all, Of({10, 20})), 10);
}

}  // namespace
}  // namespace idleburn
