#include "spot/budget.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/check.h"

namespace idleburn {
namespace {

struct CapStep {
  int percent;
  CapAction action;
};
constexpr std::array<CapStep, 3> kCapSteps = {
    {{100, CapAction::kStop}, {95, CapAction::kCheckpoint}, {80, CapAction::kWarn}}};

constexpr double kRounding = 1e-9;  // three epochs computed as 2.9999999999 are three

}  // namespace

double MaxGpuHours(Money cap, Money per_gpu_hour) {
  CHECK(per_gpu_hour > Money());
  return static_cast<double>(cap.nano()) / static_cast<double>(per_gpu_hour.nano());
}

double EpochGpuHours(double samples, double samples_per_minute) { return samples / samples_per_minute / 60; }

double LeastSamplesPerMinute(double samples, double cap_gpu_hours, double overhead) {
  return samples * (1 + overhead) / (cap_gpu_hours * 60);
}

MaxEpochs EpochsWithin(double cap_gpu_hours, double gpu_hours_per_epoch, double overhead) {
  const double exact = cap_gpu_hours / (gpu_hours_per_epoch * (1 + overhead));
  return {exact, static_cast<std::int64_t>(std::floor(exact * (1 + kRounding)))};
}

std::string EpochsText(const MaxEpochs& epochs) { return fmt::format("{:.2f}, whole {}", epochs.exact, epochs.whole); }

CapAction ActionAt(Money spent, Money cap) {
  for (const CapStep& step : kCapSteps) {
    if (Int128{spent.nano()} * 100 >= Int128{cap.nano()} * step.percent) return step.action;
  }
  return CapAction::kNone;
}

Result<Money> SpendOf(std::span<const PricedLaunch> launches) {
  Money sum;
  for (const PricedLaunch& launch : launches) {
    const Result<Money> one = Price(launch.per_gpu_hour, launch.gpu_nanos);
    if (!one) return one;
    const Result<Money> next = Add(sum, *one);
    if (!next) return next;
    sum = *next;
  }
  return sum;
}

}  // namespace idleburn
