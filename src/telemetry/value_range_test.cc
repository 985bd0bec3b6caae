#include "telemetry/value_range.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(ValueRangeTest, SharesALittleOutsideCountAsTheLimit) {
  EXPECT_EQ(InRange(Unit::kMicroPercent, 50 * kPercent), 50 * kPercent);
  EXPECT_EQ(InRange(Unit::kMicroPercent, kFull + kPercent / 2), kFull);
  EXPECT_EQ(InRange(Unit::kMicroPercent, -kPercent / 2), 0);
  EXPECT_EQ(InRange(Unit::kMicroPercent, kFull + kPercent / 2 + 1), std::nullopt);
  EXPECT_EQ(InRange(Unit::kMicroPercent, -kPercent), std::nullopt);
}

TEST(ValueRangeTest, ImpossibleReadingsHaveNoValue) {
  EXPECT_EQ(InRange(Unit::kMilliwatt, -1), std::nullopt);
  EXPECT_EQ(InRange(Unit::kMilliwatt, 700'000), 700'000);
  EXPECT_EQ(InRange(Unit::kByte, static_cast<Int128>(INT64_MAX) * 1024), std::nullopt);
  EXPECT_EQ(InRange(Unit::kMillicelsius, -40'000), -40'000);
  EXPECT_EQ(InRange(Unit::kMillicelsius, 900'000), std::nullopt);
}

}  // namespace
}  // namespace idleburn
