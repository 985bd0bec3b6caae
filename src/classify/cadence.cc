#include "classify/cadence.h"

#include <algorithm>
#include <vector>

#include "telemetry/period.h"

namespace idleburn {
namespace {

constexpr std::int64_t kShortestWindow = kNanosPerSecond / 6;
constexpr std::size_t kChangesNeeded = 20;

std::optional<Signal> ChooseCounter(std::span<const Sample> first) {
  for (const Signal s : {Signal::kUtilization, Signal::kGrEngineActive}) {
    if (std::any_of(first.begin(), first.end(), [s](const Sample& x) { return x.Has(s); })) return s;
  }
  // A counter that was only ever unavailable still says that its time is unobserved.
  for (const Signal s : {Signal::kUtilization, Signal::kGrEngineActive}) {
    if (std::any_of(first.begin(), first.end(), [s](const Sample& x) { return x.Lacks(s); })) return s;
  }
  return std::nullopt;
}

// Value at `percent` of the sorted values, the lower of two neighbours.
std::int64_t Percentile(std::vector<std::int64_t>& values, std::size_t percent) {
  const std::size_t at = (values.size() - 1) * percent / 100;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

std::int64_t TickWindow(const std::vector<std::int64_t>& change_times) {
  if (change_times.size() < kChangesNeeded + 1) return kShortestWindow;
  std::vector<std::int64_t> distances;
  for (std::size_t i = 1; i < change_times.size(); ++i) distances.push_back(change_times[i] - change_times[i - 1]);
  return std::clamp(Percentile(distances, 5), kShortestWindow, kNanosPerSecond);
}

}  // namespace

void Cadence::LastToTheNext(const Thresholds& thresholds) {
  if (thresholds.max_gap) return;
  constexpr std::int64_t kLongest = 30 * 366 * 24 * kNanosPerHour;  // longer than any job; a sum with a time fits
  spans = true;
  max_gap = Nanos(kLongest);
}

Cadence MeasureCadence(std::span<const Sample> first, const Thresholds& thresholds) {
  Cadence cadence;
  cadence.counter = ChooseCounter(first);
  std::vector<std::int64_t> intervals;
  std::vector<std::int64_t> changes;
  std::optional<std::int64_t> last_time;
  std::optional<std::int64_t> last_value;
  for (const Sample& s : first) {
    if (cadence.counter && !s.Has(*cadence.counter) && !s.Lacks(*cadence.counter)) continue;
    const std::int64_t time = s.time.nanos();
    if (last_time && time > *last_time && intervals.size() < kIntervals) intervals.push_back(time - *last_time);
    last_time = std::max(time, last_time.value_or(time));
    if (cadence.counter && s.Has(*cadence.counter)) {
      if (last_value && *last_value != s.Get(*cadence.counter)) changes.push_back(time);
      last_value = s.Get(*cadence.counter);
    }
  }
  if (thresholds.period) {
    cadence.period = *thresholds.period;
  } else if (!intervals.empty()) {
    cadence.period = Nanos(PeriodOf(intervals));
  }
  cadence.tick_window = Nanos(TickWindow(changes));
  cadence.max_gap = thresholds.max_gap.value_or(cadence.period * thresholds.max_gap_tenths / 10);
  return cadence;
}

}  // namespace idleburn
