#include "measure/utilization_ring.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/property.h"
#include "telemetry/sample.h"

namespace idleburn {
namespace {

constexpr std::int64_t kLater = 1'000'000'000;  // than all stamps
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
  const auto readings = ring.Take(first, kUint, kLater);
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].stamp_us, 2000);
  EXPECT_EQ(readings[0].value, 20 * kPercent);
  EXPECT_EQ(readings[1].stamp_us, 3000);
  EXPECT_EQ(ring.Take(first, kUint, kLater).size(), 0U);
  EXPECT_EQ(ring.ask_from_us(), 3000);
}

TEST(UtilizationRing, ValuesNoShareCanHaveAreNoValues) {
  UtilizationRing ring(0);
  const std::vector<nvml::DriverSample> bad = {At(1, 101), At(2, 0xFFFFFFFF), At(3, 100)};
  const auto readings = ring.Take(bad, kUint, kLater);
  EXPECT_FALSE(readings[0].value.has_value());
  EXPECT_FALSE(readings[1].value.has_value());
  EXPECT_EQ(readings[2].value, kFull);
}

TEST(UtilizationRing, WindowIsTheMedianDistanceAndJumpsAreGaps) {
  UtilizationRing ring(0);
  std::int64_t stamp = 1'000'000;
  std::vector<nvml::DriverSample> samples = {At(stamp, 5)};
  for (int i = 0; i < 20; ++i) samples.push_back(At(stamp += i % 5 == 0 ? 170'000 : 166'000, 5));
  for (const auto& reading : ring.Take(samples, kUint, kLater)) EXPECT_FALSE(reading.gap);
  EXPECT_EQ(ring.window(), Nanos(166'000'000));
  const std::vector<nvml::DriverSample> later = {At(stamp += 333'000, 5), At(stamp += 332'000, 5)};
  const auto readings = ring.Take(later, kUint, kLater);
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
      const auto readings = ring.Take({all.data() + begin, end - begin}, kUint, kLater);
      for (const auto& r : readings) seen.push_back(r.stamp_us);
    }
    RC_ASSERT(seen.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) RC_ASSERT(seen[i] == static_cast<std::int64_t>(all[i].timestamp));
  });
}

TEST(UtilizationRing, StampsOfAnotherClockAreNoTimeOfOurs) {
  UtilizationRing ring(1'000'000'000);
  const std::vector<nvml::DriverSample> strange = {At(5'000'000, 10), At(9'000'000'000, 10)};  // since boot; ahead
  EXPECT_TRUE(ring.Take(strange, kUint, 1'000'500'000).empty());
}

// A driver's ring of 100 entries whose stamps stay what they were, read every 0.2 s while the clock is set again and
// again, by less and by more than the ring holds: each entry is had once, where it was published by the clock that does
// not move.
TEST(UtilizationRing, HoweverTheClockIsSetEachEntryIsHadOnceAndInItsPlace) {
  test::ExpectProperty("steps", [] {
    constexpr std::int64_t kWindow = 166'667;
    std::int64_t offset = 1'700'000'000'000'000;  // wall clock less monotonic
    std::int64_t now = 0;                         // monotonic
    std::vector<nvml::DriverSample> kept;
    std::vector<std::int64_t> published;
    const auto advance = [&](std::int64_t until) {
      while ((static_cast<std::int64_t>(published.size()) + 1) * kWindow <= until) {
        published.push_back((static_cast<std::int64_t>(published.size()) + 1) * kWindow);
        kept.push_back(At(published.back() + offset, 50));
        if (kept.size() > 100) kept.erase(kept.begin());
      }
      now = until;
    };
    advance(10'000'000 + *rc::gen::inRange(0, 200'000));
    const std::size_t before = published.size();
    UtilizationRing ring(now + offset);
    std::vector<std::int64_t> had;
    const int steps = *rc::gen::inRange(1, 4);
    for (int step = 0; step <= steps; ++step) {
      const int reads = *rc::gen::inRange(1, 60);
      for (int read = 0; read < reads; ++read) {
        advance(now + 200'000);
        std::vector<nvml::DriverSample> answer;
        for (const nvml::DriverSample& entry : kept) {
          if (static_cast<std::int64_t>(entry.timestamp) > ring.ask_from_us()) answer.push_back(entry);
        }
        for (const auto& r : ring.Take(answer, kUint, now + offset)) had.push_back(r.stamp_us - offset);
      }
      // Never whole windows, also of several steps together: no stamps of a real driver meet again.
      const std::int64_t span = *rc::gen::inRange(1, 40) * 1'000'000 + 50'003 + 1000 * step;
      const std::int64_t set = *rc::gen::arbitrary<bool>() ? span : -span;
      offset += set;
      advance(now + 10'000);
      ring.MoveWall(Nanos(1000 * set), now + offset);
    }
    RC_ASSERT(had.size() <= published.size() - before);
    for (std::size_t i = 0; i < had.size(); ++i) RC_ASSERT(had[i] == published[before + i]);
    RC_ASSERT(had.size() + 3 >= published.size() - before);  // what was published since the last read
  });
}

}  // namespace
}  // namespace idleburn
