#include "recommend/refuters.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

// A trace of one device without a collective shows no peer, so that no rank can be late. Anything that may be a peer
// leaves the advice alone.
TEST(RefutersTest, OneTracedDeviceWithoutCollectivesHasNoStraggler) {
  const RunResult run;
  const DeviceTable devices;
  const CostReport cost;
  TraceDiagnosis trace;
  trace.devices.resize(1);
  trace.devices[0].budgets.resize(2);
  Scene scene{run, devices, cost};
  scene.trace = &trace;
  scene.traced_only = true;
  EXPECT_EQ(WhyNot(scene, "fix_straggler"), "one device without collectives: no rank can be late");
  for (TraceBudget& budget : trace.devices[0].budgets) {
    budget.comm_ns = 1;
    EXPECT_EQ(WhyNot(scene, "fix_straggler"), "") << "a collective, if only outside of the steps";
    budget.comm_ns = 0;
  }
  trace.devices.push_back(trace.devices[0]);
  EXPECT_EQ(WhyNot(scene, "fix_straggler"), "") << "two devices";
  trace.devices.pop_back();
  scene.traced_only = false;
  EXPECT_EQ(WhyNot(scene, "fix_straggler"), "") << "samples beside the trace may be of others";
}

}  // namespace
}  // namespace idleburn
