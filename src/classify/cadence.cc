#include "classify/cadence.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/int128.h"

namespace idleburn {
namespace {

constexpr std::int64_t kShortestWindow = kNanosPerSecond / 6;
constexpr std::size_t kChangesNeeded = 20;

std::optional<Signal> ChooseCounter(std::span<const Sample> first) {
  for (const Signal s : kBusyCounters) {
    if (std::any_of(first.begin(), first.end(), [s](const Sample& x) { return x.Has(s); })) return s;
  }
  // A counter that was only ever unavailable still says that its time is unobserved.
  for (const Signal s : kBusyCounters) {
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

// Of an even number of values the mean of the two in the middle. Sorts them.
std::int64_t Median(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  const std::int64_t lower = values[(values.size() - 1) / 2];
  return lower + (values[values.size() / 2] - lower) / 2;
}

// Whether four fifths of the values lie within `percent` of `middle`, up or down.
bool AreAbout(const std::vector<std::int64_t>& values, std::int64_t middle, int percent) {
  const auto near = std::count_if(values.begin(), values.end(), [=](std::int64_t value) {
    return static_cast<Int128>(value) * 100 <= static_cast<Int128>(middle) * (100 + percent) &&
           static_cast<Int128>(middle) * 100 <= static_cast<Int128>(value) * (100 + percent);
  });
  return static_cast<std::size_t>(near) * 5 >= values.size() * 4;
}

// `intervals` in order of time, at least one.
std::int64_t PeriodOf(const std::vector<std::int64_t>& intervals) {
  constexpr std::size_t kReaders = 4;
  constexpr std::size_t kRounds = 4;  // to call a pattern one
  constexpr int kLoose = 30;
  constexpr int kTight = 10;  // sums of whatever intervals become alike too, if more slowly
  std::vector<std::int64_t> values = intervals;
  const std::int64_t median = Median(values);
  if (AreAbout(values, median, kLoose)) return median;
  for (std::size_t readers = 2; readers <= kReaders && intervals.size() >= kRounds * readers; ++readers) {
    values.clear();
    for (auto from = intervals.begin(); intervals.end() - from >= static_cast<std::ptrdiff_t>(readers); ++from) {
      values.push_back(std::accumulate(from, from + static_cast<std::ptrdiff_t>(readers), std::int64_t{0}));
    }
    const std::int64_t round = Median(values);
    if (AreAbout(values, round, kTight)) return round;
  }
  return median;
}

}  // namespace

void FirstSamples::Add(const Sample& sample) {
  samples_.push_back(sample);
  for (std::size_t i = 0; i < kBusyCounters.size(); ++i) {
    const bool has = sample.Has(kBusyCounters[i]);
    if (!has && !sample.Lacks(kBusyCounters[i])) continue;
    Counter& counter = counters_[i];
    counter.has = counter.has || has;
    if (counter.last && sample.time > *counter.last) ++counter.intervals;
    counter.last = std::max(sample.time, counter.last.value_or(sample.time));
  }
}

bool FirstSamples::Tell() const {
  if (samples_.size() >= kMost) return true;
  const auto is_read = [](const Counter& counter) { return counter.has; };
  const auto is_named = [](const Counter& counter) { return counter.last.has_value(); };
  auto chosen = std::find_if(counters_.begin(), counters_.end(), is_read);
  if (chosen == counters_.end()) chosen = std::find_if(counters_.begin(), counters_.end(), is_named);
  // Without a counter there is nothing to wait for.
  return chosen == counters_.end() ? samples_.size() > kIntervals : chosen->intervals >= kIntervals;
}

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
  std::optional<std::int64_t> last_value;  // before that of value_time
  std::optional<std::int64_t> value;       // the largest of value_time
  std::int64_t value_time = 0;
  const auto note_change = [&] {
    if (last_value && *last_value != *value) changes.push_back(value_time);
    last_value = value;
  };
  for (const Sample& s : first) {
    if (cadence.counter && !s.Has(*cadence.counter) && !s.Lacks(*cadence.counter)) continue;
    const std::int64_t time = s.time.nanos();
    if (last_time && time > *last_time && intervals.size() < kIntervals) intervals.push_back(time - *last_time);
    last_time = std::max(time, last_time.value_or(time));
    if (!cadence.counter || !s.Has(*cadence.counter)) continue;
    const bool again = value && time == value_time;
    if (value && !again) note_change();
    value = again ? std::max(*value, s.Get(*cadence.counter)) : s.Get(*cadence.counter);
    value_time = time;
  }
  if (value) note_change();
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
