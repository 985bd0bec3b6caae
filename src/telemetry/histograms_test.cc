#include "telemetry/histograms.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "support/property.h"

namespace idleburn {
namespace {

using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;  // steps, ns

// Nearest rank over every value there was.
std::int64_t ExactPercentile(Times times, std::int64_t percent) {
  std::sort(times.begin(), times.end());
  std::int64_t total = 0;
  for (const auto& time : times) total += time.second;
  std::int64_t seen = 0;
  for (const auto& time : times) {
    seen += time.second;
    if (seen * 100 >= total * percent) return time.first;
  }
  return -1;
}

Times AnyTimes() {
  Times times;
  const int count = *rc::gen::inRange(1, 200);
  const std::int64_t top = std::int64_t{1} << *rc::gen::inRange(1, 50);
  for (int i = 0; i < count; ++i) times.emplace_back(*rc::gen::inRange<std::int64_t>(0, top), *rc::gen::inRange(1, 90));
  return times;
}

TEST(ValueSpread, PercentilesAreExactBelow256StepsAndWithinABinAbove) {
  test::ExpectProperty([] {
    const Times times = AnyTimes();
    ValueSpread spread;
    for (const auto& [steps, ns] : times) spread.Add(steps, ns);
    for (const std::int64_t percent : {1, 50, 95, 100}) {
      const std::int64_t exact = ExactPercentile(times, percent);
      const std::int64_t said = spread.Percentile(percent).value();
      RC_ASSERT(said <= exact);
      RC_ASSERT((exact - said) * 128 <= exact);
      RC_ASSERT(exact >= 256 || said == exact);
    }
  });
}

// The lower edge of a bin has the eight highest bits of each value in it, and zeros behind.
TEST(ValueSpread, BinsKeepTheEightHighestBits) {
  const auto edge = [](std::int64_t steps) {
    std::int64_t bit = 1;
    while (steps / bit >= 256) bit *= 2;
    return steps / bit * bit;
  };
  const auto expect = [&](std::int64_t steps) {
    ValueSpread spread;
    spread.Add(edge(steps) / 3, 5);  // bins below and above the first
    spread.Add(steps, 90);
    spread.Add(edge(steps) / 5, 5);
    RC_ASSERT(spread.Percentile(100) == edge(steps));
    RC_ASSERT(spread.AtLeast(edge(steps)) == 90 + (steps == 0 ? 10 : 0));
  };
  test::ExpectProperty([&] {
    for (int bits = 0; bits < 63; ++bits) {
      const std::int64_t power = std::int64_t{1} << bits;
      for (const std::int64_t steps : {power - 1, power, power + 1}) expect(steps);
      expect(*rc::gen::inRange<std::int64_t>(0, power));
    }
    expect(INT64_MAX);
  });
}

TEST(ValueSpread, PartsMergeToTheWhole) {
  test::ExpectProperty([] {
    const Times times = AnyTimes();
    ValueSpread whole;
    ValueSpread first;
    ValueSpread second;
    for (std::size_t i = 0; i < times.size(); ++i) {
      whole.Add(times[i].first, times[i].second);
      (i % 3 == 0 ? first : second).Add(times[i].first, times[i].second);
    }
    second.Merge(first);
    RC_ASSERT(second == whole);
  });
}

TEST(ValueSpread, TimeAtLeastSomeValueCountsWholeBins) {
  ValueSpread spread;
  EXPECT_EQ(spread.Percentile(95), std::nullopt);
  spread.Add(100, 7);
  spread.Add(255, 5);
  spread.Add(1003, 3);  // in the bin of 1000 to 1003
  EXPECT_EQ(spread.AtLeast(0), 15);
  EXPECT_EQ(spread.AtLeast(101), 8);
  EXPECT_EQ(spread.AtLeast(1000), 3);
  EXPECT_EQ(spread.AtLeast(1001), 0);  // what cannot be told is not counted
}

// Whole percents, watts and degrees come out as they went in.
TEST(ValueSpread, WholeUnitsAreExact) {
  for (const auto& [unit, one] :
       {std::pair(Unit::kMicroPercent, kPercent), std::pair(Unit::kMilliwatt, std::int64_t{1000}),
        std::pair(Unit::kMillicelsius, std::int64_t{1000})}) {
    for (std::int64_t whole = 0; whole <= 100; ++whole) {
      ValueSpread spread;
      spread.Add(whole * one / SpreadStep(unit), 1);
      EXPECT_EQ(spread.Percentile(95).value() * SpreadStep(unit), whole * one);
    }
  }
}

}  // namespace
}  // namespace idleburn
