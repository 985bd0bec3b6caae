#include "diagnose/host_during.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/tiny_profile.h"

namespace idleburn {
namespace {

// In second s all tasks wait for storage for a tenth of s.
HostTimeline TenSeconds(std::int64_t from) {
  HostTimeline timeline;
  std::int64_t stalled = 0;
  for (std::int64_t s = 0; s <= 10; ++s) {
    HostSample sample;
    sample.time = Instant::FromNanos((from + s) * kNanosPerSecond);
    sample.scope = HostScope::kWorkload;
    sample.Set(HostSignal::kPsiIoFull, stalled);
    timeline.Add(sample);
    stalled += s * kNanosPerSecond / 10;
  }
  return timeline;
}

// From 2.5 to 4 s after `base`.
Profile Capture(std::optional<std::int64_t> base) {
  test::TinyProfile tiny;
  tiny.Step(1, 2'500'000, 3'000'000).Kernel(2'600'000, 4'000'000, 2'550'000);
  tiny.builder().header().wall_base_ns = base;
  return tiny.Build();
}

TEST(HostDuringTest, TellsTheTimeOfTheCapture) {
  const std::vector<Profile> dated = {Capture(1'000 * kNanosPerSecond)};
  const std::optional<double> io = HostDuring(dated, TenSeconds(1'000)).psi_io_full;
  ASSERT_TRUE(io.has_value());
  EXPECT_NEAR(*io, (0.5 * 0.2 + 1 * 0.3) / 1.5, 1e-9);
}

TEST(HostDuringTest, ACaptureWithoutAClockIsOfTheWholeRun) {
  const std::vector<Profile> undated = {Capture(std::nullopt)};
  EXPECT_NEAR(HostDuring(undated, TenSeconds(1'000)).psi_io_full.value_or(-1), 0.45, 1e-9);
}

TEST(HostDuringTest, ACaptureFromAnotherTimeIsNotExplained) {
  for (const std::int64_t base : {50'000 * kNanosPerSecond, std::int64_t{0}}) {
    const std::vector<Profile> other = {Capture(base)};
    EXPECT_FALSE(HostDuring(other, TenSeconds(1'000)).psi_io_full.has_value()) << base;
  }
  const std::vector<Profile> dated = {Capture(0)};
  EXPECT_FALSE(HostDuring(dated, {}).psi_io_full.has_value());
}

// Stamps that are no times end neither in an endless search nor in another century.
TEST(HostDuringTest, SurvivesStampsThatAreNoTimes) {
  for (const std::int64_t base : {INT64_MAX, INT64_MIN, -kNanosPerSecond * 100}) {
    const std::vector<Profile> wild = {Capture(base)};
    EXPECT_TRUE(HostDuring(wild, TenSeconds(1'000)).psi_io_full.has_value());
  }
  test::TinyProfile wide;
  wide.Kernel(0, 10, 0).Kernel(1'000'000'000'000'000, 1'000'000'000'000'010, 0);
  wide.builder().header().wall_base_ns = 0;
  const std::vector<Profile> profiles = {wide.Build()};
  EXPECT_TRUE(HostDuring(profiles, TenSeconds(1'000)).psi_io_full.has_value());
}

}  // namespace
}  // namespace idleburn
