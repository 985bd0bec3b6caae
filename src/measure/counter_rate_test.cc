#include "measure/counter_rate.h"

#include <gtest/gtest.h>

#include "measure/every.h"

namespace idleburn {
namespace {

Instant At(double seconds) { return Instant::FromNanos(static_cast<std::int64_t>(seconds * 1e9)); }

TEST(CounterRate, IsTheDifferenceOverTimeAlsoAcrossAWrap) {
  CounterRate rate(10'000'000'000);
  EXPECT_FALSE(rate.Take(0xFFFF'FF00, 32, At(0)).has_value());
  EXPECT_EQ(rate.Take(0x0000'0100, 32, At(0.5)), 2 * 0x200);
  EXPECT_EQ(rate.Take(0x0000'0100, 32, At(1)), 0);
}

TEST(CounterRate, FasterThanAnyLinkIsACounterThatBeganAnew) {
  CounterRate rate(1'000'000);
  rate.Take(5'000'000'000, 64, At(0));
  EXPECT_FALSE(rate.Take(100, 64, At(1)).has_value());
  EXPECT_EQ(rate.Take(1'000'100, 64, At(2)), 1'000'000);
  EXPECT_EQ(rate.Take(2'100'100, 64, At(3)), 1'100'000);  // a tenth more is believed
  EXPECT_FALSE(rate.Take(3'300'000, 64, At(4)).has_value());
  EXPECT_FALSE(rate.Take(3'400'000, 64, At(4)).has_value());  // no time passed
}

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
