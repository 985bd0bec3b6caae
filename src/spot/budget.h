#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/money.h"

namespace idleburn {

// What a cap allows (planning.md section 5). A cap in money is stretched by a lower price, one in GPU-hours by nothing.
double MaxGpuHours(Money cap, Money per_gpu_hour);  // price above 0

// At `samples_per_minute` of one GPU; more of them share the hours and need as many GPU-hours.
double EpochGpuHours(double samples, double samples_per_minute);
// The speed of one GPU at which `samples` fit the cap, if an `overhead` (0.05) is lost. Cap above 0.
double LeastSamplesPerMinute(double samples, double cap_gpu_hours, double overhead);

struct MaxEpochs {
  double exact = 0;
  std::int64_t whole = 0;
};
MaxEpochs EpochsWithin(double cap_gpu_hours, double gpu_hours_per_epoch, double overhead);
std::string EpochsText(const MaxEpochs& epochs);  // "2.64, whole 2"

// A cap that does not stop the run is a report: what to do as it fills up.
enum class CapAction : std::uint8_t { kNone, kWarn, kCheckpoint, kStop };
CapAction ActionAt(Money spent, Money cap);  // from 80, 95, 100 % on

// Every launch counts, at its own price, not the last one alone.
struct PricedLaunch {
  Money per_gpu_hour;
  std::int64_t gpu_nanos = 0;
};
Result<Money> SpendOf(std::span<const PricedLaunch> launches);

}  // namespace idleburn
