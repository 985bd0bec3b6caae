#include "measure/lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/property.h"

namespace idleburn {

namespace {

TEST(Spread, QuantilesAreThoseOfTheSortedSpansWithinAnEighth) {
  test::ExpectProperty("spread", [] {
    auto spans = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(
        rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 44), rc::gen::inRange<std::int64_t>(0, 1'000'000)),
                     [](const std::pair<int, std::int64_t>& p) { return ((1LL << p.first) * p.second) / 1'000'000; })));
    Spread spread;
    for (const std::int64_t span : spans) spread.Add(Nanos(span));
    std::sort(spans.begin(), spans.end());
    RC_ASSERT(spread.max() == Nanos(spans.back()));
    RC_ASSERT(spread.count() == static_cast<std::int64_t>(spans.size()));
    for (const double p : {0.01, 0.5, 0.99, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(spans.size())));
      const std::int64_t exact = spans[std::max<std::size_t>(rank, 1) - 1];
      const std::int64_t told = spread.Quantile(p).count();
      RC_ASSERT(told >= exact);
      RC_ASSERT(told <= exact + exact / 8);
    }
  });
}

TEST(Spread, WithoutSpansAllIsZero) {
  const Spread spread;
  EXPECT_EQ(spread.Quantile(0.99), Nanos(0));
  EXPECT_EQ(spread.max(), Nanos(0));
}

Instant At(double seconds) { return Instant::FromNanos(static_cast<std::int64_t>(seconds * 1e9)); }

TEST(Every, TakesTheFirstTickAndThenOneAPeriodWhateverTheJitter) {
  Every every{Nanos(kNanosPerSecond)};
  int due = 0;
  for (int i = 0; i < 100; ++i) {
    const double jitter = i % 3 == 0 ? 0.004 : i % 3 == 1 ? -0.004 : 0;
    due += every.Due(At(0.1 * i + jitter)) ? 1 : 0;
  }
  EXPECT_EQ(due, 10);
}

TEST(Every, AfterAPauseItGoesOnWithoutMakingUpForIt) {
  Every every{Nanos(kNanosPerSecond)};
  EXPECT_TRUE(every.Due(At(0)));
  EXPECT_TRUE(every.Due(At(7.3)));
  EXPECT_FALSE(every.Due(At(7.4)));
  EXPECT_TRUE(every.Due(At(8.3)));
}

}  // namespace

}  // namespace idleburn
