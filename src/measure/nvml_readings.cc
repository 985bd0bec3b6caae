#include "measure/nvml_readings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "telemetry/sample.h"

namespace idleburn {

namespace {

// An unsigned value. All ones in its width mean that the driver has none.
template <typename T>
std::optional<std::uint64_t> Known(T value) {
  if (value == static_cast<T>(~T{0})) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

// A signed value. -1 is all ones, and no other negative value makes sense for a counter.
template <typename T>
std::optional<std::uint64_t> NotNegative(T value) {
  if (value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

}  // namespace

std::optional<std::uint64_t> IntegerOf(const nvml::Value& value, nvml::ValueType type) {
  switch (type) {
    case nvml::ValueType::kUint:
      return Known(value.u32);
    case nvml::ValueType::kUlong:
      return Known(value.ul);
    case nvml::ValueType::kUlonglong:
      return Known(value.u64);
    case nvml::ValueType::kUshort:
      return Known(value.u16);
    case nvml::ValueType::kLonglong:
      return NotNegative(value.i64);
    case nvml::ValueType::kInt:
      return NotNegative(value.i32);
    case nvml::ValueType::kDouble:
      break;
  }
  return std::nullopt;
}

int BitsOf(nvml::ValueType type) {
  switch (type) {
    case nvml::ValueType::kUint:
    case nvml::ValueType::kInt:
      return 32;
    case nvml::ValueType::kUshort:
      return 16;
    default:
      return 64;
  }
}

// A version that is no number counts as 0 and tries the older ids first.
SlowdownFields::SlowdownFields(std::string_view nvml_version)
    : order_{nvml::kFieldSlowdowns, nvml::kFieldSlowdownsBefore13} {
  int major = 0;
  std::from_chars(nvml_version.data(), nvml_version.data() + nvml_version.size(), major);
  if (major < 13) order_ = {nvml::kFieldSlowdownsBefore13, nvml::kFieldSlowdowns};
}

std::optional<SlowdownFields::Ids> SlowdownFields::Candidate() const {
  if (ids_ || candidate_ >= order_.size()) return std::nullopt;
  return order_[candidate_];
}

// Judges all three at once: they belong to one set of ids. 5 % more than the time that passed are allowed, because
// the driver reads its clock at another moment.
void SlowdownFields::Judge(const std::array<nvml::FieldValue, 3>& fields, Nanos at) {
  bool right = true;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const nvml::FieldValue& field = fields[i];
    right = right && field.result == nvml::kSuccess && field.type == nvml::ValueType::kUlonglong;
    const std::uint64_t value = field.value.u64;
    if (right && readings_ > 0) {
      const double passed = static_cast<double>((at - last_at_).count());
      right = value >= last_[i] && static_cast<double>(value - last_[i]) <= 1.05 * passed;
    }
    last_[i] = value;
  }
  last_at_ = at;
  if (!right) {
    ++candidate_;
    readings_ = 0;
  } else if (++readings_ == kReadings) {
    ids_ = order_[candidate_];
  }
}

namespace {

// The metrics of one request, in the order in which Take reads the answers.
constexpr std::array<std::uint32_t, 8> kMetrics = {nvml::kGpmGraphics, nvml::kGpmSm,      nvml::kGpmTensor,
                                                   nvml::kGpmDram,     nvml::kGpmPcieTx,  nvml::kGpmPcieRx,
                                                   nvml::kGpmNvlinkTx, nvml::kGpmNvlinkRx};

}  // namespace

std::unique_ptr<GpmPair> GpmPair::Open(NvmlLibrary& nvml, nvml::Device board, std::optional<std::uint32_t> instance) {
  nvml::GpmSupport support = {nvml::kGpmVersion, 0};
  if (nvml.Call(nvml.gpm_support, board, &support) != nvml::kSuccess || support.supported == 0) return nullptr;
  std::unique_ptr<GpmPair> pair(new GpmPair(nvml, board, instance));
  for (nvml::GpmSample& sample : pair->samples_) {
    if (nvml.Call(nvml.gpm_alloc, &sample) != nvml::kSuccess) return nullptr;
  }
  return pair;
}

GpmPair::~GpmPair() {
  for (nvml::GpmSample sample : samples_) {
    if (sample != nullptr) nvml_.Call(nvml_.gpm_free, sample);
  }
}

// The samples are swapped even if the metrics fail. Then the next activity covers only the time since this call.
std::optional<GpmPair::Activity> GpmPair::Take(nvml::Return* code) {
  nvml::GpmSample later = samples_[primed_ ? 1 : 0];
  *code = instance_ ? nvml_.Call(nvml_.gpm_mig_sample, board_, *instance_, later)
                    : nvml_.Call(nvml_.gpm_sample, board_, later);
  if (*code != nvml::kSuccess) return std::nullopt;
  if (!primed_) {
    primed_ = true;
    return std::nullopt;
  }
  nvml::GpmMetricsGet& request = *request_;
  request.version = nvml::kGpmVersion;
  request.count = kMetrics.size();
  request.first = samples_[0];
  request.second = samples_[1];
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    request.metrics[i] = {};
    request.metrics[i].id = kMetrics[i];
  }
  *code = nvml_.Call(nvml_.gpm_metrics, &request);
  std::swap(samples_[0], samples_[1]);
  if (*code != nvml::kSuccess) return std::nullopt;
  std::array<std::optional<double>, kMetrics.size()> values;
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    const nvml::GpmMetric& metric = request.metrics[i];
    // Each metric has a result of its own. The driver also returns NaN for a metric that a device lacks.
    if (metric.result == nvml::kSuccess && std::isfinite(metric.value) && metric.value >= 0) values[i] = metric.value;
  }
  Activity activity;
  activity.graphics_percent = values[0];
  activity.sm_percent = values[1];
  activity.tensor_percent = values[2];
  activity.dram_percent = values[3];
  activity.pcie_tx_mib_s = values[4];
  activity.pcie_rx_mib_s = values[5];
  activity.nvlink_tx_mib_s = values[6];
  activity.nvlink_rx_mib_s = values[7];
  return activity;
}

namespace {

constexpr std::size_t kRemembered = 1024;       // rings hold about a hundred
constexpr std::int64_t kMostAhead = 1'000'000;  // of the driver's clock to ours

}  // namespace

bool WindowMeter::Add(Nanos distance) {
  if (window_ || distance <= Nanos(0)) return false;
  distances_.push_back(distance);
  if (distances_.size() < kEnough) return false;
  // The median of an even number of distances: the mean of the two in the middle.
  std::sort(distances_.begin(), distances_.end());
  window_ = (distances_[kEnough / 2 - 1] + distances_[kEnough / 2]) / 2;
  return true;
}

// Asks the driver from the lower of both clocks' stamps, so that no value is left out. Take skips those it knows.
void UtilizationRing::MoveWall(Nanos step, std::int64_t wall_us) {
  const std::int64_t step_us = step.count() / 1000;
  ask_from_us_ = std::min(ask_from_us_, last_seen_us_ + step_us);
  last_seen_us_ += step_us;
  step_us_ += step_us;
  step_at_us_ = wall_us - step_us_;
}

// The stamp by the present clock. A stamp of the old clock is moved by the step. After a step back, such stamps lie
// near the time that the old clock would show now. After a step ahead, they end at the time of the step.
//
// Wrong after a step of less than 0.4 s: then a stamp may fit both clocks, and is misplaced by the step at most.
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
  // A distance of more than two windows means that the ring overflowed in between. Such a distance does not count for
  // the window.
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

// Searches its place from the end, because nearly all samples come in order.
void HeldSamples::Add(const Sample& sample) {
  if (sample.time <= released_) {
    ++too_late_;
    return;
  }
  auto place = held_.end();
  while (place != held_.begin() && std::prev(place)->time > sample.time) --place;
  if (place != held_.begin() && std::prev(place)->time == sample.time) {
    Sample& same = *std::prev(place);
    for (std::size_t i = 0; i < kSignalCount; ++i) {
      const auto signal = static_cast<Signal>(i);
      if (sample.Has(signal)) same.Set(signal, sample.Get(signal));
    }
    if (sample.unavailable != 0) same.reason = sample.reason;
    same.unavailable |= sample.unavailable;
    return;
  }
  held_.insert(place, sample);
}

void HeldSamples::Pass(const Sample& sample, Instant until, std::vector<Sample>& out) {
  if (held_.empty() && sample.time > released_ && sample.time <= until) {  // the usual way, without a copy
    released_ = sample.time;
    out.push_back(sample);
    return;
  }
  Add(sample);
  Release(until, out);
}

void HeldSamples::Release(Instant until, std::vector<Sample>& out) {
  const auto end = std::find_if(held_.begin(), held_.end(), [&](const Sample& s) { return s.time > until; });
  if (end == held_.begin()) return;
  released_ = std::prev(end)->time;
  out.insert(out.end(), held_.begin(), end);
  held_.erase(held_.begin(), end);
}

// Rows of a tick that hung carry earlier times than the stale rows that were pushed meanwhile.
void HeldSamples::Forbid(Instant time) {
  released_ = std::max(released_, time);
  const auto end = std::find_if(held_.begin(), held_.end(), [&](const Sample& s) { return s.time > time; });
  too_late_ += end - held_.begin();
  held_.erase(held_.begin(), end);
}

}  // namespace idleburn
