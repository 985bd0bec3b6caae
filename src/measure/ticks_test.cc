#include "measure/ticks.h"

#include <gtest/gtest.h>

#include "support/property.h"

namespace idleburn {
namespace {

TEST(Ticks, AnEarlyOrPunctualTickMovesByOnePeriod) {
  Ticks ticks(Nanos(1000), Nanos(100));
  EXPECT_EQ(ticks.next(), Nanos(1000));
  ticks.Served(Nanos(990));
  EXPECT_EQ(ticks.next(), Nanos(1100));
  ticks.Served(Nanos(1199));
  EXPECT_EQ(ticks.next(), Nanos(1200));
  EXPECT_EQ(ticks.missed(), 0);
}

// However long the work of each tick takes: ticks stay on the grid, the next lies ahead, and served and missed
// ticks together are all there were.
TEST(Ticks, StayOnTheGridAndCountWhatTheyMiss) {
  test::ExpectProperty("ticks", [] {
    const auto period = *rc::gen::inRange<std::int64_t>(1, 1000);
    Ticks ticks(Nanos(7), Nanos(period));
    std::int64_t now = 0;
    std::int64_t served = 0;
    for (const std::int64_t work : *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange(0, 5000))) {
      now = std::max(now, ticks.next().count()) + work;
      ticks.Served(Nanos(now));
      ++served;
      RC_ASSERT((ticks.next().count() - 7) % period == 0);
      RC_ASSERT(ticks.next().count() > now);
      RC_ASSERT(ticks.next().count() - now <= period);
      RC_ASSERT((ticks.next().count() - 7) / period == served + ticks.missed());
    }
  });
}

}  // namespace
}  // namespace idleburn
