#include "fleet/gauge_samples.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(GaugeSamplesTest, ARefusedHourIsHalvedInStepsOfFiveMinutes) {
  EXPECT_EQ(HalfOf(0, 3600), 1800);
  EXPECT_EQ(HalfOf(0, 900), 300);
  EXPECT_EQ(HalfOf(7200, 7800), 7500);
  EXPECT_EQ(HalfOf(0, 300), std::nullopt);
  EXPECT_EQ(HalfOf(0, 60), std::nullopt);
  // The last hour of a window may be short.
  EXPECT_EQ(HalfOf(0, 301), 300);
}

TEST(GaugeSamplesTest, AJobOwnsNothingOutsideItsRuns) {
  JobTimes jobs;
  jobs.Add("7", {100, 200});
  jobs.Add("7", {300, JobTimes::kStillRunning});
  EXPECT_EQ(OwnerAt("job 7", 99, jobs), "");
  EXPECT_EQ(OwnerAt("job 7", 100, jobs), "job 7");
  EXPECT_EQ(OwnerAt("job 7", 200, jobs), "");
  EXPECT_EQ(OwnerAt("job 7", 400, jobs), "job 7");
  // What the list does not name is not bounded.
  EXPECT_EQ(OwnerAt("job 8", 99, jobs), "job 8");
  EXPECT_EQ(OwnerAt("pod ml/7", 99, jobs), "pod ml/7");
  EXPECT_EQ(OwnerAt("", 99, jobs), "");
}

GpuHold Held(const std::string& uuid, const std::string& host, std::optional<int> index, const std::string& owner) {
  GpuHold held;
  held.gpu.uuid = uuid;
  held.gpu.host = host;
  held.gpu.index = index;
  held.owner = owner;
  return held;
}

TEST(GaugeSamplesTest, AGpuAndAnOwnerAreOneDevice) {
  const std::string uuid = "GPU-e203bd08-aeb1-2365-d027-d9ccb532d3c1";
  const std::string one = HeldUuid(Held(uuid, "node1", 0, "job 7"));
  EXPECT_EQ(NormalUuid(one), one);
  // Exporters spell UUIDs with and without GPU-, and nodes by name or by target.
  EXPECT_EQ(HeldUuid(Held(uuid.substr(4), "node1.example.com", std::nullopt, "job 7")), one);
  EXPECT_NE(HeldUuid(Held(uuid, "node1", 0, "job 8")), one);
  EXPECT_NE(HeldUuid(Held(uuid, "node1", 0, "")), one);
  // Without a UUID, the place tells GPUs apart.
  EXPECT_NE(HeldUuid(Held("", "node1", 0, "job 7")), HeldUuid(Held("", "node1", 1, "job 7")));
  EXPECT_NE(HeldUuid(Held("", "node1", 0, "job 7")), HeldUuid(Held("", "node2", 0, "job 7")));
  GpuHold instance = Held(uuid, "node1", 0, "job 7");
  instance.gpu.mig = MigInstance{"3", "1g.10gb", 1};
  EXPECT_NE(HeldUuid(instance), one);
}

}  // namespace
}  // namespace idleburn
