#include "telemetry/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace idleburn {
namespace {

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

}  // namespace
}  // namespace idleburn
