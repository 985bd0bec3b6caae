#include "text/duration.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(DurationTest, ReadsUnits) {
  EXPECT_EQ(ParseDuration("100ms").value(), Nanos(100'000'000));
  EXPECT_EQ(ParseDuration("5s").value(), Nanos(5'000'000'000));
  EXPECT_EQ(ParseDuration("2.5m").value(), Nanos(150'000'000'000));
  EXPECT_EQ(ParseDuration("48h").value(), Nanos(48 * kNanosPerHour));
  EXPECT_EQ(ParseDuration("0.1078s").value(), Nanos(107'800'000));
  for (const char* bad : {"", "5", "s", "-1s", "0s", "5 parsecs", "1e30d", "nans"})
    EXPECT_FALSE(ParseDuration(bad)) << bad;
}

TEST(DurationTest, SecondsForPeopleHaveOneDecimal) {
  EXPECT_EQ(SecondsText(Nanos(1'260'000'000)), "1.3 s");
  EXPECT_EQ(SecondsText(Nanos(-3600 * kNanosPerSecond)), "-3600.0 s");
}

}  // namespace
}  // namespace idleburn
