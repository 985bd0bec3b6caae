// What a run says against a lever. Those that rest on samples are tested with the advice they change.
#include "recommend/refuters.h"

#include <gtest/gtest.h>

#include "diagnose/trace_diagnosis.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

using test::TinyProfile;

std::string WhyNotStraggler(std::vector<Profile> profiles, bool traced_only = true) {
  const RunResult run;
  const DeviceTable devices;
  const CostReport cost;
  const TraceDiagnosis trace = DiagnoseProfiles(profiles);
  return WhyNot({run, devices, cost, {}, &trace, traced_only}, "fix_straggler");
}

// Queued wait of one device without a collective is a dependency of its own streams: there is no rank to look for.
TEST(RefutersTest, ADeviceWithoutPeersHasNoLateRank) {
  const Profile alone = TinyProfile().Kernel(0, 100, 0).Kernel(200, 300, 10).Build();
  EXPECT_EQ(WhyNotStraggler({alone}), "one device without collectives: no rank can be late");
  EXPECT_EQ(WhyNotStraggler({TinyProfile().Kernel(0, 100, 0).Comm(200, 300, 10).Build()}), "");
  EXPECT_EQ(WhyNotStraggler({alone, alone}), "") << "two devices may wait for each other";
  EXPECT_EQ(WhyNotStraggler({alone}, false), "") << "samples beside the trace may show peers";
}

// The collective lies before the steps: a peer there is.
TEST(RefutersTest, ACollectiveOutsideTheStepsCountsToo) {
  EXPECT_EQ(WhyNotStraggler({TinyProfile().Comm(0, 10, 0).Step(1, 20, 100).Kernel(30, 90, 25).Build()}), "");
}

}  // namespace
}  // namespace idleburn
