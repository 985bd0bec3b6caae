#include "isolate/reading.h"

#include <algorithm>
#include <cmath>

namespace idleburn {
namespace {

Finding Judge(const Knob& knob, const KnobReading& reading) {
  if (!reading.effect_interval) return Finding::kOneRound;
  const auto [low, high] = *reading.effect_interval;
  if (low > -kMaterial && high < kMaterial) return Finding::kNone;
  if ((low <= 0 && high >= 0) || std::abs(reading.effect) < kMaterial) return Finding::kNotShown;
  if ((reading.effect > 0) != (knob.expected > 0)) return Finding::kOpposite;
  return knob.limits && reading.sensitivity.value_or(1) < 0.5 ? Finding::kPartly : Finding::kBounds;
}

}  // namespace

KnobReading ReadKnob(const KnobResult& result) {
  std::vector<double> logs;
  logs.reserve(result.pairs.size());
  for (const TrialPair& pair : result.pairs) {
    logs.push_back(std::log(pair.variant.PerSecond() / pair.baseline.PerSecond()));
  }
  const double mean = MeanOf(logs);
  const std::optional<Interval> interval = IntervalOfMean(logs, kConfidence);
  KnobReading reading;
  reading.effect = std::expm1(mean);
  if (interval) reading.effect_interval = Interval{std::expm1(interval->low), std::expm1(interval->high)};
  if (result.resource_ratio) {
    const double resource = std::log(*result.resource_ratio);
    reading.sensitivity = mean / resource;
    if (interval) {
      const double a = interval->low / resource;
      const double b = interval->high / resource;
      reading.sensitivity_interval = Interval{std::min(a, b), std::max(a, b)};
    }
  }
  reading.finding = Judge(*result.knob, reading);
  return reading;
}

}  // namespace idleburn
