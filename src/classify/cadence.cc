#include "classify/cadence.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "classify/cell.h"
#include "telemetry/reading_times.h"

namespace idleburn {
namespace {

// The shortest W of any product.
constexpr std::int64_t kShortestWindow = kNanosPerSecond / 6;
constexpr std::size_t kChangesNeeded = 21;  // for 20 distances of them

// One with a value goes before one that is only named.
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

// The value at `percent` of the values, the lower one of two neighbours. It sorts a part of them.
std::int64_t Percentile(std::vector<std::int64_t>& values, std::size_t percent) {
  const std::size_t at = (values.size() - 1) * percent / 100;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

// 0 where there are too few changes. The shortest distances count, but one short distance alone may be jitter.
std::int64_t TickWindow(const std::vector<std::int64_t>& change_times) {
  if (change_times.size() < kChangesNeeded) return 0;
  std::vector<std::int64_t> distances;
  for (std::size_t i = 1; i < change_times.size(); ++i) distances.push_back(change_times[i] - change_times[i - 1]);
  return std::clamp(Percentile(distances, 5), kShortestWindow, kLongestTickWindow.count());
}

// The first positive intervals between rows that say something of one of the `signals`. Without `signals` every row
// counts.
std::vector<std::int64_t> IntervalsOf(std::span<const Sample> first, std::uint32_t signals) {
  std::vector<std::int64_t> intervals;
  std::optional<std::int64_t> last;
  for (const Sample& s : first) {
    if (signals != 0 && ((s.present | s.unavailable) & signals) == 0) continue;
    const std::int64_t time = s.time.nanos();
    if (last && time > *last && intervals.size() < kIntervals) intervals.push_back(time - *last);
    last = std::max(time, last.value_or(time));
  }
  return intervals;
}

// The times at which the value of the counter changed. Readings of one time count as their mean.
std::vector<std::int64_t> ChangesOf(std::span<const Sample> first, Signal counter) {
  std::vector<std::int64_t> changes;
  std::optional<std::int64_t> before;
  std::optional<std::int64_t> value;
  std::int64_t value_time = 0;
  std::int64_t sum = 0;
  std::int64_t rows = 0;
  const auto settle = [&] {
    if (before && *before != *value) changes.push_back(value_time);
    before = value;
  };
  for (const Sample& s : first) {
    if (!s.Has(counter)) continue;
    const bool again = value && s.time.nanos() == value_time;
    if (value && !again) settle();
    sum = again ? sum + s.Get(counter) : s.Get(counter);
    rows = again ? rows + 1 : 1;
    value = static_cast<std::int64_t>(DivHalfEven(sum, rows));
    value_time = s.time.nanos();
  }
  if (value) settle();
  return changes;
}

// What moves on its own from reading to reading. Counters and limits are left out: they stay or always rise.
constexpr std::uint32_t kGauges =
    Bit(Signal::kUtilization) | Bit(Signal::kMemoryUtilization) | Bit(Signal::kGrEngineActive) |
    Bit(Signal::kSmActive) | Bit(Signal::kTensorActive) | Bit(Signal::kDramActive) | Bit(Signal::kPower) |
    Bit(Signal::kSmClock) | Bit(Signal::kMemoryUsed) | Bit(Signal::kTemperature) | Bit(Signal::kPcieRx) |
    Bit(Signal::kPcieTx) | Bit(Signal::kNvlink) | Bit(Signal::kEncoderUtilization) | Bit(Signal::kDecoderUtilization);

}  // namespace

void FirstSamples::Add(const Sample& sample) {
  samples_.push_back(sample);
  present_ |= sample.present;
  for (std::uint32_t bits = sample.present | sample.unavailable; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    const bool again = ((named_ >> i) & 1) != 0;
    if (again && sample.time > last_[i]) ++intervals_[i];
    last_[i] = again ? std::max(last_[i], sample.time) : sample.time;
  }
  named_ |= sample.present | sample.unavailable;
  for (std::size_t i = 0; i < kBusyCounters.size(); ++i) {
    if (!sample.Has(kBusyCounters[i])) continue;
    if (value_[i] && *value_[i] != sample.Get(kBusyCounters[i])) ++changes_[i];
    value_[i] = sample.Get(kBusyCounters[i]);
  }
}

// What is waited for goes from what matters most to what matters least, and each has an end.
bool FirstSamples::Tell(std::size_t most) const {
  if (samples_.size() >= most) return true;
  const auto in = [](std::uint32_t signals) { return [signals](Signal s) { return (signals & Bit(s)) != 0; }; };
  const auto* counter = std::find_if(kBusyCounters.begin(), kBusyCounters.end(), in(present_));
  if (counter == kBusyCounters.end()) counter = std::find_if(kBusyCounters.begin(), kBusyCounters.end(), in(named_));
  // Without a counter there is nothing to wait for.
  if (counter == kBusyCounters.end()) return samples_.size() > kIntervals;
  if (intervals_[Index(*counter)] < kIntervals) return false;
  if (samples_.size() >= kMostForOthers) return true;
  const bool polled =
      (samples_.back().time - samples_.front().time) / static_cast<std::int64_t>(kIntervals) < kLongestTickWindow;
  const auto which = static_cast<std::size_t>(counter - kBusyCounters.begin());
  if (polled && changes_[which] < kChangesNeeded) return false;
  for (std::uint32_t bits = named_ & HeldMask(); bits != 0; bits &= bits - 1) {
    if (intervals_[static_cast<std::size_t>(std::countr_zero(bits))] < kIntervalsOfOthers) return false;
  }
  return true;
}

void Cadence::LastToTheNext(const Thresholds& thresholds) {
  if (thresholds.max_gap) return;
  constexpr std::int64_t kLongest = 30 * 366 * 24 * kNanosPerHour;  // longer than any job; a sum with a time fits
  spans = true;
  max_gap = Nanos(kLongest);
  hold.fill(kLongest);
}

Cadence MeasureCadence(std::span<const Sample> first, const Thresholds& thresholds) {
  Cadence cadence;
  cadence.counter = ChooseCounter(first);
  const std::vector<std::int64_t> intervals = IntervalsOf(first, cadence.counter ? Bit(*cadence.counter) : 0);
  if (thresholds.period) {
    cadence.period = *thresholds.period;
  } else if (!intervals.empty()) {
    cadence.period = Nanos(PeriodOf(intervals));
  }
  if (cadence.counter) cadence.tick_window = Nanos(TickWindow(ChangesOf(first, *cadence.counter)));
  cadence.max_gap = thresholds.max_gap.value_or(cadence.period * thresholds.max_gap_tenths / 10);
  // What the user says of gaps is the least that other signals are held, too.
  const std::int64_t given = thresholds.period || thresholds.max_gap ? cadence.max_gap.count() : 0;
  for (std::uint32_t bits = HeldMask(); bits != 0; bits &= bits - 1) {
    const std::vector<std::int64_t> own = IntervalsOf(first, bits & ~(bits - 1));
    if (own.size() < FirstSamples::kIntervalsOfOthers) continue;
    std::int64_t& hold = cadence.hold[static_cast<std::size_t>(std::countr_zero(bits))];
    hold = std::max(PeriodOf(own) * thresholds.max_gap_tenths / 10, given);
  }
  return cadence;
}

void CollectionRuns::Close(std::int64_t length) {
  ++runs_[static_cast<std::size_t>(std::min<std::int64_t>(length, kLongest))];
}

void CollectionRuns::OnScrape(bool changed) {
  ++scrapes_;
  if (changed && changed_) Close(tail_);
  changed_ = changed_ || changed;
  (changed_ ? tail_ : lead_) = changed ? 1 : (changed_ ? tail_ : lead_) + 1;
}

Collection CollectionRuns::Told() const {
  constexpr std::int64_t kRunsNeeded = 5;
  constexpr std::int64_t kEarlyOfRuns = 10;
  const std::int64_t runs = std::accumulate(runs_.begin(), runs_.end(), std::int64_t{0});
  if (!changed_) return {scrapes_ > 1 ? Collection::Known::kConstant : Collection::Known::kTooFew, 1};
  if (runs < kRunsNeeded) return {Collection::Known::kTooFew, 1};
  // The median: the first length that half of the runs are no longer than.
  std::size_t n = 0;
  for (std::int64_t seen = 0; 2 * seen < runs; ++n) seen += runs_[n + 1];
  const auto early = runs_.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(n, 1) - 1);
  const std::int64_t shorter = std::accumulate(runs_.begin(), early, std::int64_t{0});
  const bool regular = n < kLongest && shorter * kEarlyOfRuns <= runs;
  return {regular ? Collection::Known::kTold : Collection::Known::kIrregular, static_cast<std::int64_t>(n)};
}

void CollectionWatch::Settle() {
  if (!counted_) return;
  runs_.OnScrape(changed_);
  counted_ = changed_ = false;
}

void CollectionWatch::Forget() {
  Settle();
  time_ = INT64_MIN;
  before_ = now_ = 0;
}

void CollectionWatch::OnRow(const Sample& sample, std::int64_t time, std::uint32_t counter) {
  if (time != time_) {
    Settle();
    time_ = time;
    before_ = now_;
    now_ = 0;
  }
  const std::uint32_t gauges = sample.present & kGauges;
  for (std::uint32_t bits = gauges; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    const bool known = (((before_ | now_) >> i) & 1) != 0;
    changed_ = changed_ || (known && value_[i] != sample.value[i]);
    value_[i] = sample.value[i];
  }
  now_ |= gauges;
  counted_ = counted_ || (sample.present & counter) != 0;
}

}  // namespace idleburn
