#include "isolate/reading.h"

#include <algorithm>
#include <cmath>

#include "stats/moments.h"

namespace idleburn {
namespace {

KnobFinding Judge(const Knob& knob, const KnobReading& reading) {
  if (!reading.effect_interval) return KnobFinding::kOneRound;
  const auto [low, high] = *reading.effect_interval;
  if (low > -kMaterial && high < kMaterial) return KnobFinding::kNone;
  if ((low <= 0 && high >= 0) || std::abs(reading.effect) < kMaterial) return KnobFinding::kNotShown;
  if ((reading.effect > 0) != (knob.expected > 0)) return KnobFinding::kOpposite;
  constexpr double kHalf = 0.5;
  if (!knob.limits || !reading.sensitivity_interval || reading.sensitivity_interval->low >= kHalf) {
    return KnobFinding::kBounds;
  }
  return reading.sensitivity_interval->high < kHalf ? KnobFinding::kPartly : KnobFinding::kAtLeastPartly;
}

}  // namespace

KnobReading ReadKnob(const KnobResult& result) {
  std::vector<double> logs;
  logs.reserve(result.pairs.size());
  for (const TrialPair& pair : result.pairs) {
    logs.push_back(std::log(pair.variant.PerSecond() / pair.baseline.PerSecond()));
  }
  const double mean = MeanOf(logs);
  const std::optional<ConfidenceInterval> interval = IntervalOfMean(logs, kConfidence);
  KnobReading reading;
  reading.effect = std::expm1(mean);
  if (interval) reading.effect_interval = ConfidenceInterval{std::expm1(interval->low), std::expm1(interval->high)};
  if (result.resource_ratio) {
    const double resource = std::log(*result.resource_ratio);
    reading.sensitivity = mean / resource;
    if (interval) {
      const double a = interval->low / resource;
      const double b = interval->high / resource;
      reading.sensitivity_interval = ConfidenceInterval{std::min(a, b), std::max(a, b)};
    }
  }
  reading.finding = Judge(*result.knob, reading);
  return reading;
}

}  // namespace idleburn
