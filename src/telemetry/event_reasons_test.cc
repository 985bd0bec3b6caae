#include "telemetry/event_reasons.h"

#include <gtest/gtest.h>

#include <set>

namespace idleburn {
namespace {

// Bits of nvml.h: nvmlClocksEventReasonGpuIdle 0x1, ...SwPowerCap 0x4, ...HwPowerBrakeSlowdown 0x80,
// ...DisplayClockSetting 0x100.
TEST(EventReasonsTest, EachHasItsBitAndNamesOfItsOwn) {
  ASSERT_EQ(kEventReasonCount, 9U);
  EXPECT_EQ(kEventReasonTable[0].name, "gpu_idle");
  EXPECT_EQ(kEventReasonTable[2].name, "sw_power_cap");
  EXPECT_EQ(kEventReasonTable[7].name, "hw_power_brake_slowdown");
  EXPECT_EQ(kEventReasonTable[8].name, "display_clock_setting");
  EXPECT_EQ(kEventReasonTable[8].nvidia_smi, "display_clocks_setting");
  std::set<std::string_view> names;
  std::set<std::string_view> in_nvidia_smi;
  for (const EventReason& reason : kEventReasonTable) {
    names.insert(reason.name);
    in_nvidia_smi.insert(reason.nvidia_smi);
  }
  EXPECT_EQ(names.size(), kEventReasonCount);
  EXPECT_EQ(in_nvidia_smi.size(), kEventReasonCount);
}

}  // namespace
}  // namespace idleburn
