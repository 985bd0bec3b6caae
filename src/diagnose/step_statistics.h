#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/interval_set.h"
#include "profile/profile.h"

namespace idleburn {

struct StepTime {
  std::int64_t number = 0;
  Interval at;               // its range on the host
  std::int64_t busy_ns = 0;  // of the device, within the range
  bool counted = true;       // in the statistics
  bool outlier = false;      // counted, and far from the other steps

  [[nodiscard]] std::int64_t IdleNs() const { return at.Ns() - busy_ns; }
};

// How long steps take. The first profiled step carries warm-up, the last the profiler's own end: from four steps on
// neither is counted. Never the mean: one long step moves it.
struct StepStatistics {
  std::vector<StepTime> steps;
  std::int64_t counted = 0;
  std::optional<double> median_ns;  // absent without steps
  std::optional<double> mad_ns;     // median absolute deviation from the median
  double noise = 0;                 // 2 x MAD / median: a share below it may be chance; 0 where too few steps tell

  // Fewer steps than that show no spread: what rests on them is at most likely.
  static constexpr std::size_t kEnough = 4;
  [[nodiscard]] bool Enough() const { return steps.size() >= kEnough; }
};

// `busy_by_step`: nanoseconds of each in which the device was busy.
StepStatistics MeasureSteps(const std::vector<ProfiledStep>& steps, const std::vector<std::int64_t>& busy_by_step);

// "6 steps, median 126.6 ms; step 4 is an outlier (163.5 ms)"
std::string Describe(const StepStatistics& statistics);

}  // namespace idleburn
