#include "trial/isolate_reading.h"

#include <algorithm>
#include <cmath>

#include "stats/mean.h"

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

double LogRate(const WorkRate& rate) { return std::log(rate.PerSecond()); }

}  // namespace

std::optional<RunNoise> NoiseOf(const SeriesResult& series) {
  RunNoise noise;
  double squares = 0;
  const auto add = [&](const std::vector<double>& logs) {
    if (logs.size() < 2) return;
    const double mean = MeanOf(logs);
    for (const double log : logs) squares += (log - mean) * (log - mean);
    noise.freedom += static_cast<double>(logs.size() - 1);
    noise.runs += static_cast<int>(logs.size());
  };
  std::vector<double> logs;
  for (const WorkRate& rate : series.unchanged) logs.push_back(LogRate(rate));
  add(logs);
  for (const KnobResult& knob : series.knobs) {
    logs.clear();
    for (const TrialPair& pair : knob.pairs) logs.push_back(LogRate(pair.baseline));
    add(logs);
  }
  if (noise.freedom < 1) return std::nullopt;
  noise.log_sd = std::sqrt(squares / noise.freedom);
  return noise;
}

KnobReading ReadKnob(const KnobResult& result, const std::optional<RunNoise>& noise) {
  std::vector<double> logs;
  logs.reserve(result.pairs.size());
  for (const TrialPair& pair : result.pairs) {
    logs.push_back(LogRate(pair.variant) - LogRate(pair.baseline));
  }
  const double mean = MeanOf(logs);
  std::optional<ConfidenceInterval> interval = IntervalOfMean(logs, kConfidence);
  if (interval && noise) {
    const double t = StudentTQuantile(noise->freedom, (1 + kConfidence) / 2);
    const double half = t * noise->log_sd * std::sqrt(2 / static_cast<double>(logs.size()));
    interval = ConfidenceInterval{std::min(interval->low, mean - half), std::max(interval->high, mean + half)};
  }
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
