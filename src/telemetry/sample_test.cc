#include "telemetry/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

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

// In whichever order a source says what it lacks: why utilisation has no value, else graphics-engine activity.
TEST(SampleTest, TheReasonIsThatOfTheBusyCounter) {
  std::vector<Signal> signals = {Signal::kUtilization, Signal::kMemoryUtilization, Signal::kGrEngineActive,
                                 Signal::kPower};
  const auto reason_of = [](Signal s) {
    return s == Signal::kUtilization      ? Unobserved::kSentinel
           : s == Signal::kGrEngineActive ? Unobserved::kPermission
                                          : Unobserved::kUnsupported;
  };
  do {
    Sample all;
    Sample no_utilization;
    for (const Signal s : signals) {
      all.SetUnavailable(s, reason_of(s));
      if (s != Signal::kUtilization) no_utilization.SetUnavailable(s, reason_of(s));
    }
    EXPECT_EQ(all.reason, Unobserved::kSentinel);
    EXPECT_EQ(no_utilization.reason, Unobserved::kPermission);
    EXPECT_EQ(all.unavailable, no_utilization.unavailable | Bit(Signal::kUtilization));
  } while (std::next_permutation(signals.begin(), signals.end()));
}

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
