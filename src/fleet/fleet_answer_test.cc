#include "fleet/fleet_answer.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(FleetFunnelTest, EachStepLeavesOutWhatItsNameSays) {
  FleetReport report;
  report.whole.phases = {300, 200, 250, 150, 100};
  report.unallocated.phases = {80, 0, 10, 0, 10};
  const FleetFunnel funnel = FunnelOf(report);
  EXPECT_EQ(funnel.total_ms, 1000);
  EXPECT_EQ(funnel.allocated_ms, 900);
  EXPECT_EQ(funnel.active_ms, 900 - 220 - 90);
  EXPECT_EQ(funnel.effective_ms, 240 + 150);
  report.gpu_use.emplace().whole.spin_ms = 40;
  EXPECT_EQ(FunnelOf(report).effective_ms, 350);
  report.gpu_use->whole.spin_ms = 4000;  // live counters may know more than closed hours
  EXPECT_EQ(FunnelOf(report).effective_ms, 0);
}

}  // namespace
}  // namespace idleburn
