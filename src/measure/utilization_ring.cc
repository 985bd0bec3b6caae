#include "measure/utilization_ring.h"

#include <algorithm>

#include "measure/nvml_fields.h"
#include "telemetry/sample.h"

namespace idleburn {
namespace {

constexpr std::size_t kRemembered = 1024;       // rings hold about a hundred
constexpr std::int64_t kMostAhead = 1'000'000;  // of the driver's clock to ours

}  // namespace

bool WindowMeter::Add(Nanos distance) {
  if (window_ || distance <= Nanos(0)) return false;
  distances_.push_back(distance);
  if (distances_.size() < kEnough) return false;
  std::sort(distances_.begin(), distances_.end());
  window_ = (distances_[kEnough / 2 - 1] + distances_[kEnough / 2]) / 2;
  return true;
}

void UtilizationRing::MoveWall(Nanos step, std::int64_t wall_us) {
  const std::int64_t step_us = step.count() / 1000;
  ask_from_us_ = std::min(ask_from_us_, last_seen_us_ + step_us);
  last_seen_us_ += step_us;
  step_us_ += step_us;
  step_at_us_ = wall_us - step_us_;
}

// After a step back the old clock's stamps lie near where that clock would be now, after one ahead up to where it was.
std::int64_t UtilizationRing::ByPresentClock(std::int64_t stamp_us, std::int64_t wall_us) const {
  const bool old = step_us_ < 0 ? stamp_us > wall_us - step_us_ / 2 : step_us_ > 0 && stamp_us <= step_at_us_;
  return old ? stamp_us + step_us_ : stamp_us;
}

std::vector<UtilizationRing::Reading> UtilizationRing::Take(std::span<const nvml::DriverSample> samples,
                                                            std::uint32_t value_type, std::int64_t wall_us) {
  std::vector<Reading> readings;
  for (const nvml::DriverSample& sample : samples) {
    const auto given = static_cast<std::int64_t>(sample.timestamp);
    if (std::find(read_.begin(), read_.end(), given) != read_.end()) continue;
    read_.push_back(given);
    if (read_.size() > kRemembered) read_.pop_front();
    const std::int64_t stamp = ByPresentClock(given, wall_us);
    if (stamp <= last_seen_us_ || stamp > wall_us + kMostAhead) continue;
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
  ask_from_us_ = last_seen_us_;
  step_us_ = 0;
  return readings;
}

}  // namespace idleburn
