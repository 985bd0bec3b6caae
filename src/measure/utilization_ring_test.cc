#include "measure/utilization_ring.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/property.h"
#include "telemetry/signal.h"

namespace idleburn {
namespace {

constexpr auto kUint = static_cast<std::uint32_t>(nvml::ValueType::kUint);

nvml::DriverSample At(std::int64_t us, std::uint32_t percent) {
  nvml::DriverSample sample{};
  sample.timestamp = static_cast<std::uint64_t>(us);
  sample.value.u32 = percent;
  return sample;
}

TEST(UtilizationRing, GivesEachStampOnceInOrderWhateverTheDriverRepeats) {
  UtilizationRing ring(1000);
  const std::vector<nvml::DriverSample> first = {At(900, 1), At(3000, 30), At(2000, 20), At(3000, 30)};
  const auto readings = ring.Take(first, kUint);
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].stamp_us, 2000);
  EXPECT_EQ(readings[0].value, 20 * kPercent);
  EXPECT_EQ(readings[1].stamp_us, 3000);
  EXPECT_EQ(ring.Take(first, kUint).size(), 0U);
  EXPECT_EQ(ring.last_seen_us(), 3000);
}

TEST(UtilizationRing, ValuesNoShareCanHaveAreNoValues) {
  UtilizationRing ring(0);
  const std::vector<nvml::DriverSample> bad = {At(1, 101), At(2, 0xFFFFFFFF), At(3, 100)};
  const auto readings = ring.Take(bad, kUint);
  EXPECT_FALSE(readings[0].value.has_value());
  EXPECT_FALSE(readings[1].value.has_value());
  EXPECT_EQ(readings[2].value, kFull);
}

TEST(UtilizationRing, WindowIsTheMedianDistanceAndJumpsAreGaps) {
  UtilizationRing ring(0);
  std::int64_t stamp = 1'000'000;
  std::vector<nvml::DriverSample> samples = {At(stamp, 5)};
  for (int i = 0; i < 20; ++i) samples.push_back(At(stamp += i % 5 == 0 ? 170'000 : 166'000, 5));
  for (const auto& reading : ring.Take(samples, kUint)) EXPECT_FALSE(reading.gap);
  EXPECT_EQ(ring.window(), Nanos(166'000'000));
  const std::vector<nvml::DriverSample> later = {At(stamp += 333'000, 5), At(stamp += 332'000, 5)};
  const auto readings = ring.Take(later, kUint);
  EXPECT_TRUE(readings[0].gap);   // more than two windows
  EXPECT_FALSE(readings[1].gap);  // two
}

// However a stream of stamps is cut into calls that overlap: the readings are the same.
TEST(UtilizationRing, DoesNotDependOnHowOftenItIsRead) {
  test::ExpectProperty("ring", [] {
    const auto gaps = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 400'000)));
    std::vector<nvml::DriverSample> all;
    std::int64_t stamp = 10;
    for (const int gap : gaps) all.push_back(At(stamp += gap, static_cast<std::uint32_t>(gap % 101)));
    UtilizationRing ring(10);
    std::vector<std::int64_t> seen;
    for (std::size_t end = 0; end < all.size();) {
      end = std::min(all.size(), end + static_cast<std::size_t>(*rc::gen::inRange(1, 9)));
      const std::size_t begin = end - std::min<std::size_t>(end, 20);
      for (const auto& r : ring.Take({all.data() + begin, end - begin}, kUint)) seen.push_back(r.stamp_us);
    }
    RC_ASSERT(seen.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) RC_ASSERT(seen[i] == static_cast<std::int64_t>(all[i].timestamp));
  });
}

}  // namespace
}  // namespace idleburn
