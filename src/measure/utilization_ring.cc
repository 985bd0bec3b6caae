#include "measure/utilization_ring.h"

#include <algorithm>

#include "measure/nvml_fields.h"
#include "telemetry/signal.h"

namespace idleburn {

bool WindowMeter::Add(Nanos distance) {
  if (window_ || distance <= Nanos(0)) return false;
  distances_.push_back(distance);
  if (distances_.size() < kEnough) return false;
  std::sort(distances_.begin(), distances_.end());
  window_ = (distances_[kEnough / 2 - 1] + distances_[kEnough / 2]) / 2;
  return true;
}

std::vector<UtilizationRing::Reading> UtilizationRing::Take(std::span<const nvml::DriverSample> samples,
                                                            std::uint32_t value_type) {
  std::vector<Reading> readings;
  for (const nvml::DriverSample& sample : samples) {
    const auto stamp = static_cast<std::int64_t>(sample.timestamp);
    if (stamp <= last_seen_us_) continue;
    const std::optional<std::uint64_t> percent = IntegerOf(sample.value, static_cast<nvml::ValueType>(value_type));
    Reading reading;
    reading.stamp_us = stamp;
    if (percent && *percent <= 100) reading.value = static_cast<std::int64_t>(*percent) * kPercent;
    readings.push_back(reading);
  }
  std::sort(readings.begin(), readings.end(),
            [](const Reading& a, const Reading& b) { return a.stamp_us < b.stamp_us; });
  readings.erase(std::unique(readings.begin(), readings.end(),
                             [](const Reading& a, const Reading& b) { return a.stamp_us == b.stamp_us; }),
                 readings.end());
  const Nanos window = meter_.window().value_or(Nanos(kNanosPerSecond));  // no product publishes less often
  for (Reading& reading : readings) {
    const Nanos distance(1000 * (reading.stamp_us - last_seen_us_));
    reading.gap = any_ && distance > 2 * window;
    if (any_ && !reading.gap) meter_.Add(distance);
    last_seen_us_ = reading.stamp_us;
    any_ = true;
  }
  return readings;
}

}  // namespace idleburn
