#include "diagnose/traced_run.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/tiny_profile.h"

namespace idleburn {
namespace {

using test::TinyProfile;

// 100 us of steps on two devices: the first computes 40, copies 10 in the open; the second only computes 100.
std::vector<Profile> TwoRanks() {
  TinyProfile first;
  first.Step(1, 0, 100).Kernel(20, 60, 10).Copy(CopyKind::kHtoD, MemoryKind::kPinned, 4096, 70, 80, 65);
  first.builder().header().rank = 0;
  TinyProfile second;
  second.Step(1, 0, 100).Kernel(0, 100, 0);
  second.builder().header().rank = 1;
  second.builder().header().wall_base_ns = 1'700'000'000'000'000'000;
  std::vector<Profile> profiles;
  profiles.push_back(first.Build());
  profiles.push_back(second.Build());
  return profiles;
}

TEST(TracedRunTest, EveryNanosecondOfTheDecidingWindowHasOnePhase) {
  const std::vector<Profile> profiles = TwoRanks();
  const TraceDiagnosis diagnosis = DiagnoseProfiles(profiles);
  DeviceTable devices;
  DataQuality quality;
  const RunResult run = TracedRun(profiles, diagnosis, devices, quality);
  ASSERT_EQ(run.devices.size(), 2U);
  constexpr std::int64_t kUs = TinyProfile::kUs;
  const DeviceTotals& first = run.devices[0].totals;
  EXPECT_EQ(first.phase_ns, (std::array<std::int64_t, kPhaseCount>{50 * kUs, 10 * kUs, 40 * kUs, 0}));
  EXPECT_EQ(first.idle_held_ns, 50 * kUs);
  EXPECT_EQ(first.utilization.ns, 100 * kUs);
  EXPECT_EQ(first.utilization.Mean(), 40.0 * kPercent);
  EXPECT_EQ(run.devices[1].totals.phase_ns[2], 100 * kUs);
  for (const DeviceResult& d : run.devices) EXPECT_EQ(d.WindowNs(), (d.last - d.first).count());
}

TEST(TracedRunTest, DevicesOfSeveralRanksStayApartAndHaveTheirCounter) {
  const std::vector<Profile> profiles = TwoRanks();
  DeviceTable devices;
  DataQuality quality;
  const RunResult run = TracedRun(profiles, DiagnoseProfiles(profiles), devices, quality);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].host, "rank 0");
  EXPECT_EQ(devices[1].host, "rank 1");
  EXPECT_EQ(devices[0].counter[Index(Signal::kUtilization)], "kineto.device_activity");
  // The first says no date: it begins at 0, which is counted; the second is on the wall clock.
  EXPECT_EQ(run.devices[0].first.nanos(), 0);
  EXPECT_EQ(run.devices[1].first.nanos(), 1'700'000'000'000'000'000);
  EXPECT_EQ(quality.CountOf(QualityId::kNoTimestamp), 1);
}

// Two captures of one rank are two devices: added into one, their findings would cost more than they have.
TEST(TracedRunTest, FilesThatClaimOneRankStayApart) {
  std::vector<Profile> profiles = TwoRanks();
  profiles[0].file = "morning.json";
  profiles[1].file = "noon.json";
  profiles[1].rank = 0;
  DeviceTable devices;
  DataQuality quality;
  const RunResult run = TracedRun(profiles, DiagnoseProfiles(profiles), devices, quality);
  ASSERT_EQ(run.devices.size(), 2U);
  EXPECT_EQ(devices[0].host, "morning.json");
  EXPECT_EQ(devices[1].host, "noon.json");
}

TEST(TracedRunTest, WithoutDeviceEventsThereIsNoDevice) {
  std::vector<Profile> profiles;
  profiles.push_back(TinyProfile().Step(1, 0, 100).Build());
  DeviceTable devices;
  DataQuality quality;
  EXPECT_TRUE(TracedRun(profiles, DiagnoseProfiles(profiles), devices, quality).devices.empty());
}

}  // namespace
}  // namespace idleburn
