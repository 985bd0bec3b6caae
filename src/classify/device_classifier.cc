#include "classify/device_classifier.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/result.h"

namespace idleburn {
namespace {

constexpr std::uint32_t kFacts = Bit(Signal::kPowerLimit) | Bit(Signal::kPowerDefaultLimit) | Bit(Signal::kMaxSmClock) |
                                 Bit(Signal::kMemoryTotal) | Bit(Signal::kXid) | Bit(Signal::kNvlink);
constexpr std::array<Signal, 3> kRemembered = {Signal::kPowerLimit, Signal::kPowerDefaultLimit, Signal::kMaxSmClock};
constexpr std::uint32_t kProfiling = Bit(Signal::kGrEngineActive) | Bit(Signal::kSmActive);
constexpr std::uint32_t kHeld = HeldMask();
constexpr std::uint32_t kRare = kFacts | kProfiling | Bit(Signal::kEnergy);

// Readings are held for so long at the most; less than a second is no gap.
std::int64_t HoldOf(const Cadence& cadence) { return std::max(cadence.max_gap.count(), kNanosPerSecond); }

// The same cadence with all holds known.
Cadence WithHolds(Cadence cadence, const Thresholds& thresholds) {
  for (std::int64_t& hold : cadence.hold) {
    if (hold == 0) hold = std::max(thresholds.side_hold, cadence.max_gap).count();
  }
  return cadence;
}

std::size_t CounterSlot(const Cadence& cadence) { return Slot(cadence.counter.value_or(Signal::kUtilization)); }

}  // namespace

DeviceClassifier::DeviceClassifier(const Thresholds& thresholds, const Cadence& cadence, std::int64_t max_sm_khz,
                                   const RunWindow* window)
    : thresholds_(&thresholds),
      window_(window),
      cadence_(WithHolds(cadence, thresholds)),
      fast_(cadence.Fast(thresholds)),
      counter_bit_(cadence.counter ? Bit(*cadence.counter) : 0),
      counter_slot_(CounterSlot(cadence)),
      hold_(HoldOf(cadence)),
      max_sm_khz_(max_sm_khz),
      cells_(thresholds, cadence.counter == Signal::kGrEngineActive),
      ticks_(thresholds, cadence),
      second_(cadence.counter.has_value()) {}

void DeviceClassifier::Adopt(const Cadence& cadence, Instant next) {
  SettleUsual();
  const bool fast = cadence.Fast(*thresholds_);
  const bool reads_on = cadence.counter == cadence_.counter && cadence.counter;
  if (reads_on && !fast_) held_.Prolong((cadence.max_gap - cadence_.max_gap).count());
  if (fast != fast_) collections_.Forget();
  if (last_time_ == INT64_MIN) {
    // Nothing was read yet.
  } else if (fast && !fast_) {
    Advance(InWindow(FloorSecond(next.nanos() + clock_.shift()) * kNanosPerSecond));
    CloseHeld();
  } else if (fast_ && !fast) {
    CloseSecond();
    held_.Begin(InWindow(second_.end()));
    second_.Leave();
    const std::int64_t until = ticks_.last_time() + cadence.max_gap.count();
    if (reads_on && (lacked_ & counter_bit_) == 0) {
      held_.Hold(ticks_.last_value(), until);
    } else {
      held_.HoldNothing(held_.why(), until);
    }
  }
  ticks_.CloseBlocks(INT64_MAX / 4, totals_);
  cadence_ = WithHolds(cadence, *thresholds_);
  fast_ = fast;
  counter_bit_ = cadence.counter ? Bit(*cadence.counter) : 0;
  counter_slot_ = CounterSlot(cadence);
  hold_ = HoldOf(cadence);
  cells_.set_by_engine(cadence.counter == Signal::kGrEngineActive);
  ticks_ = TickCounter(*thresholds_, cadence);
  second_.Restart(cadence.counter.has_value());
}

void DeviceClassifier::set_holds(const Cadence& cadence) { cadence_.hold = WithHolds(cadence, *thresholds_).hold; }

// False if the sample, of another time than the last, is dropped. Where the clock was set, time goes on one period
// later, so durations do not change, and that interval is unobserved.
bool DeviceClassifier::Place(const Sample& sample) {
  using Row = DeviceClock::Row;
  const std::int64_t stamp = sample.time.nanos();
  if (last_time_ == INT64_MIN) {
    clock_.Begin(stamp, sample.present);
    return true;
  }
  switch (clock_.Place(stamp, sample.present, last_time_, hold_, cadence_.period.count())) {
    case Row::kOn:
      return true;
    case Row::kStep:
      ++totals_.clock_steps;
      if (!fast_) held_.HoldNothing(Unobserved::kClock, stamp + clock_.shift());
      return true;
    case Row::kAgain:
      ++totals_.duplicates;
      second_.ExpectNothing();  // the clock is to see where it ends
      return false;
    case Row::kMisplaced:
      if (!misplaced_) misplaced_ = sample.time;
      [[fallthrough]];
    case Row::kLate:
      ++totals_.out_of_order;
      return false;
  }
  return false;
}

inline void DeviceClassifier::FeedDense(const Sample& s, std::int64_t time) {
  if (time >= second_.end()) BeginSecond(time);
  if ((s.present & counter_bit_) != 0) {
    const std::int64_t value = s.Get(*cadence_.counter);
    second_.AddCounter(value);
    ticks_.OnReading(time, value, totals_);
  } else if ((s.unavailable & counter_bit_) != 0) {
    second_.Lacks(s.reason);
  }
  for (std::uint32_t bits = s.present & AveragedMask(); bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    second_.AddSide(kMeasuredSlot[i], s.value[i]);
    last_readings_[i] = {s.value[i], time};
  }
  last_readings_.Forget(s.unavailable & kHeld);
  if (s.Has(Signal::kEventReasons)) {
    second_.CountReasons(s.Get(Signal::kEventReasons), 1);
    last_readings_[Index(Signal::kEventReasons)] = {s.Get(Signal::kEventReasons), time};
  }
}

// Accounts for the samples that FeedUsual took.
void DeviceClassifier::SettleUsual() {
  const std::int64_t rows = second_.SettleUsual();
  if (rows == 0) return;
  totals_.samples += rows;
  for (const DenseSecond::Averaged signal : second_.usual_signals()) last_readings_[signal.index].time = last_time_;
  said_ = second_.usual();
  lacked_ = 0;
}

// Expects more samples like this one, if FeedUsual does all that one needs.
void DeviceClassifier::ChooseUsual(const Sample& sample) {
  if (sample.present == second_.usual()) return;
  const bool suits = fast_ && (sample.present & counter_bit_) != 0 && (sample.present & kRare) == 0 &&
                     (sample.present & ~(AveragedMask() | counter_bit_)) == 0;
  if (suits) {
    second_.Expect(sample.present);
  } else {
    second_.ExpectNothing();
  }
}

// What FeedUsual needs of the rows. Returns whether one of them has a value beyond every one before, as few have.
bool DeviceClassifier::SumUsual(const SampleColumns& columns, std::span<const std::uint32_t> rows, RowSums& sums) {
  std::array<RowSums::Column, kAveragedCount + 1> summed;
  const auto column = [&](std::size_t signal, std::size_t slot) {
    return RowSums::Column{columns.values[signal], totals_.range[slot].peak};
  };
  std::size_t columns_summed = 0;
  for (const DenseSecond::Averaged signal : second_.usual_signals())
    summed[columns_summed++] = column(signal.index, signal.slot);
  summed[columns_summed++] = column(Index(*cadence_.counter), counter_slot_);
  return sums.Set(std::span(summed).first(columns_summed), rows);
}

// The rows are those that FeedUsual takes.
void DeviceClassifier::NoteUsualPeaks(const SampleColumns& columns, std::span<const std::uint32_t> rows) {
  const auto note = [&](std::size_t slot, const std::int64_t* values) {
    for (const std::uint32_t row : rows) {
      if (values[row] > totals_.range[slot].peak)
        RaisePeak(slot, values[row], columns.times[row].nanos() + clock_.shift());
    }
  };
  for (const DenseSecond::Averaged signal : second_.usual_signals()) note(signal.slot, columns.values[signal.index]);
  note(counter_slot_, columns.values[Index(*cadence_.counter)]);
}

// Takes all rows as FeedUsual of a sample would take each. Closes every second in its turn, but counts the readings of
// many seconds in one call: a call a second costs as much as half of its rows.
void DeviceClassifier::FeedUsual(const SampleColumns& columns, std::span<const std::uint32_t> rows, RowSums& sums) {
  if (SumUsual(columns, rows, sums)) NoteUsualPeaks(columns, rows);
  const TickCounter::Readings readings{columns.times, columns.values[Index(*cadence_.counter)], rows, clock_.shift()};
  const auto time_of = [&](std::size_t at) { return columns.times[rows[at]].nanos() + readings.shift; };
  std::size_t counted = 0;
  std::size_t in_second = 1;  // rows of the second before: the search for the end of the next begins there
  for (std::size_t at = 0; at < rows.size();) {
    const std::int64_t time = time_of(at);
    if (time >= second_.end()) BeginUsualSecond(time);
    if (at == counted) counted = ticks_.OnReadings(readings, at, second_.end(), totals_);
    std::size_t to = std::min(at + in_second, counted);
    while (to < counted && time_of(to) < second_.end()) ++to;
    while (time_of(to - 1) >= second_.end()) --to;
    second_.AddUsual(sums, at, to);
    last_time_ = time_of(to - 1);
    in_second = to - at;
    at = to;
  }
  for (const DenseSecond::Averaged signal : second_.usual_signals())
    last_readings_[signal.index].value = columns.values[signal.index][rows.back()];
}

void DeviceClassifier::Feed(const SampleColumns& columns, std::span<const std::uint32_t> rows, RowSums& sums) {
  const auto is_usual = [&](std::uint32_t row) {
    return columns.present == second_.usual() && IsNext(columns.times[row].nanos() + clock_.shift());
  };
  std::size_t at = 0;
  for (Sample sample; at < rows.size() && !is_usual(rows[at]); ++at) {
    columns.Get(rows[at], sample);
    Feed(sample);
  }
  if (at < rows.size()) FeedUsual(columns, rows.subspan(at), sums);
}

void DeviceClassifier::FeedAny(const Sample& sample) {
  SettleUsual();
  if (sample.time.nanos() + clock_.shift() == last_time_) return FeedSameTime(sample);
  if (!Place(sample)) return;
  const std::int64_t time = sample.time.nanos() + clock_.shift();
  if (last_time_ != INT64_MIN && time - last_time_ > LongestSilence()) EndStretch(time);
  said_ = lacked_ = 0;
  ++totals_.samples;
  TakeRow(sample, time);
}

// What a table says of one time may stand in several rows: each adds what was not said before, and a value is more than
// the word that there is none.
void DeviceClassifier::FeedSameTime(const Sample& sample) {
  const bool repeats_counter = (sample.present & said_ & counter_bit_) != 0;
  AverageRepeated(sample);
  Sample rest = sample;
  rest.present &= ~said_;
  rest.unavailable &= ~(said_ | lacked_);
  const bool adds = (rest.present | rest.unavailable) != 0;
  ++(repeats_counter || !adds ? totals_.duplicates : totals_.samples);
  if (adds) TakeRow(rest, last_time_);
}

// Readings of one signal and time. Counted again, equal ones of a log that is there twice change nothing.
void DeviceClassifier::AverageRepeated(const Sample& sample) {
  same_stamp_.Begin(last_time_);
  bool differs = false;
  if (!fast_) collections_.OnRow(sample, last_time_, counter_bit_);
  for (std::uint32_t bits = sample.present & said_ & (kHeld | counter_bit_); bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    const std::uint32_t bit = bits & ~(bits - 1);
    const std::int64_t before = bit == counter_bit_ ? ticks_.last_value() : last_readings_[i].value;
    differs = differs || sample.value[i] != before;
    const std::int64_t value = same_stamp_.Add(static_cast<Signal>(i), before, sample.value[i]);
    if (value == before) continue;
    if (bit == counter_bit_) {
      if (fast_) second_.AmendCounter(value - before);
      held_.Amend(value);
      ticks_.Amend(value, totals_);
    }
    if ((bit & kHeld) == 0) continue;
    last_readings_[i].value = value;
    if (!fast_) continue;
    if ((bit & AveragedMask()) != 0) {
      second_.AmendSide(kMeasuredSlot[i], value - before);
    } else {
      second_.CountReasons(before, -1);
      second_.CountReasons(value, 1);
    }
  }
  NotePeaks(sample, last_time_);
  if ((sample.present & said_ & kFacts) != 0) {
    Sample again = sample;
    again.present &= said_;
    NoteFacts(again);
  }
  if ((sample.present & said_ & Bit(Signal::kEnergy)) != 0 && sample.Get(Signal::kEnergy) > last_energy_)
    NoteEnergy(sample.Get(Signal::kEnergy), last_time_);
  if (differs && differs_at_ != last_time_) {
    ++totals_.differing;
    differs_at_ = last_time_;
  }
}

// A reading outside of the window is none of the run's.
void DeviceClassifier::RaisePeak(std::size_t slot, std::int64_t value, std::int64_t time) {
  if (InWindow(time) == time) totals_.range[slot].peak = value;
}

void DeviceClassifier::NotePeaks(const Sample& sample, std::int64_t time) {
  for (std::uint32_t bits = sample.present & (AveragedMask() | counter_bit_); bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    const std::size_t slot = kMeasuredSlot[i];
    if (sample.value[i] > totals_.range[slot].peak) RaisePeak(slot, sample.value[i], time);
  }
}

void DeviceClassifier::TakeRow(const Sample& sample, std::int64_t time) {
  held_.Follow(sample.present & kHeld);
  NotePeaks(sample, time);
  if (fast_) {
    FeedDense(sample, time);
  } else {
    FeedHeld(sample, time);
  }
  if ((sample.present & kRare) != 0) NoteRare(sample, time);  // of what follows: what was before is accounted for
  said_ |= sample.present;
  lacked_ |= sample.unavailable;
  last_time_ = time;
  ChooseUsual(sample);
}

void DeviceClassifier::NoteRare(const Sample& s, std::int64_t time) {
  if ((s.present & kFacts) != 0) NoteFacts(s);
  if (s.Has(Signal::kEnergy)) NoteEnergy(s.Get(Signal::kEnergy), time);
  if ((s.present & kProfiling) != 0) WatchStuckCounters(s, time);
}

void DeviceClassifier::NoteFacts(const Sample& s) {
  for (const Signal fact : kRemembered) {
    if (s.Has(fact)) last_readings_[Index(fact)] = {s.Get(fact), s.time.nanos()};
  }
  TellLimits();
  if (s.Has(Signal::kMaxSmClock)) max_sm_khz_ = s.Get(Signal::kMaxSmClock);
  if (s.Has(Signal::kMemoryTotal)) totals_.memory_total = std::max(totals_.memory_total, s.Get(Signal::kMemoryTotal));
  if (s.Has(Signal::kNvlink)) totals_.nvlink_readings.Add(1, s.Get(Signal::kNvlink));
  if (s.Has(Signal::kXid) && s.Get(Signal::kXid) != 0) xid_seen_ = true;
}

void DeviceClassifier::TellLimits() {
  const std::optional<std::int64_t> limit = power_limit() ? power_limit() : default_limit();
  if (limit) cells_.set_power_limit(limit);
  cells_.set_lowered(power_limit() && default_limit() && *power_limit() < *default_limit());
}

// The counter runs since the driver was loaded; after a fall the new value is the increase. More than any board draws
// is none, as where it reads 0 once.
void DeviceClassifier::NoteEnergy(std::int64_t millijoules, std::int64_t time) {
  if (last_energy_ >= 0) {
    totals_.has_energy_counter = true;
    const bool reset = millijoules < last_energy_;
    const std::int64_t increase = reset ? millijoules : millijoules - last_energy_;
    const std::int64_t interval = time - last_energy_time_;
    constexpr std::int64_t kNanosPerMillijoule = 10;  // 100 kW
    const bool possible = increase <= std::max(interval, kNanosPerSecond) / kNanosPerMillijoule;
    const auto add = [&](auto& sum) {
      sum.energy_resets += reset ? 1 : 0;
      sum.energy_out_of_range += possible ? 0 : 1;
      sum.energy_mj += possible ? increase : 0;
      sum.energy_ns += possible ? interval : 0;
    };
    if (energy_crosses_) {
      add(stretches_.back().after);
    } else {
      add(totals_);
    }
  }
  energy_crosses_ = false;
  last_energy_ = millijoules;
  last_energy_time_ = time;
}

void DeviceClassifier::WatchStuckCounters(const Sample& s, std::int64_t time) {
  if (!s.Has(Signal::kUtilization)) return;
  const bool busy = s.Get(Signal::kUtilization) >= thresholds_->stuck_busy_from;
  const std::array<Signal, 2> watched = {Signal::kGrEngineActive, Signal::kSmActive};
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (!s.Has(watched[i])) continue;
    if (!busy || s.Get(watched[i]) != 0) {
      stuck_since_[i] = INT64_MIN;
    } else if (stuck_since_[i] == INT64_MIN) {
      stuck_since_[i] = time;
    } else if (time - stuck_since_[i] >= thresholds_->stuck_after.count()) {
      totals_.profiling_stuck = true;
    }
  }
}

// --- long silences, which may end a run

std::int64_t DeviceClassifier::LongestSilence() const {
  const bool one_run = window_ != nullptr && window_->start;
  if (one_run || (cadence_.spans && held_.valid()) || stretches_.size() >= kMostStretches) return INT64_MAX;
  if (cadence_.spans) return kLeastSilence;  // after a reading whose end its source has told
  return std::max({kLeastSilence, kSilentPeriods * cadence_.period.count(), cadence_.max_gap.count()});
}

Stretch DeviceClassifier::OpenStretch() const {
  Stretch open;
  open.first = stretches_.empty() ? first_ : begun_;
  open.last = last_edge_;
  if (__builtin_add_overflow(last_edge_, LongestSilence(), &open.reach)) open.reach = INT64_MAX;
  open.time = RunTime::Of(totals_).Less(ended_);
  return open;
}

// What follows the last row, whose cell is closed, if the run goes on.
Silence DeviceClassifier::SilenceUntil(std::int64_t time) {
  if (fast_) {
    Silence gap;
    const std::int64_t ns = FloorSecond(time) * kNanosPerSecond - last_edge_;
    gap.time.unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)] = ns;
    return gap;
  }
  DeviceTotals totals;
  CellAccumulator cells = cells_;
  HeldReadings held = held_;
  while (const Cell* cell = held.Advance(time, last_readings_, cadence_)) cells.Add(*cell, max_sm_khz_, totals);
  if (const Cell* cell = held.TakeOpen()) cells.Add(*cell, max_sm_khz_, totals);
  cells.Flush(totals);
  return Silence::Of(totals);
}

// Ends the stretch at its last row; another begins with the row at `time`. What was held before is not held any more.
void DeviceClassifier::EndStretch(std::int64_t time) {
  CloseOpen();
  cells_.Flush(totals_);
  Stretch ended = OpenStretch();
  ended.after = SilenceUntil(time);
  ended_.Merge(ended.time);
  stretches_.push_back(std::move(ended));
  begun_ = fast_ ? FloorSecond(time) * kNanosPerSecond : time;
  second_.Leave();
  if (!fast_) held_.Begin(time);
  held_.Forget();
  last_readings_.Forget(kHeld);
  stuck_since_ = {INT64_MIN, INT64_MIN};
  energy_crosses_ = last_energy_ >= 0;
}

std::vector<Stretch> DeviceClassifier::Stretches() const {
  std::vector<Stretch> all = stretches_;
  all.push_back(OpenStretch());
  return all;
}

// --- several readings a second: means of ticks

void DeviceClassifier::BeginSecond(std::int64_t time) {
  const std::int64_t begin = FloorSecond(time) * kNanosPerSecond;
  const bool follows = second_.open();
  const std::int64_t closed = second_.end();
  if (follows) {
    CloseSecond();
    if (begin > closed) cells_.AddGap(InWindow(begin) - InWindow(closed), totals_);
  }
  ticks_.CloseBlocks(time, totals_);
  second_.Begin(begin + kNanosPerSecond);
  if (!follows) first_ = std::min(first_, OpenPart().from);
}

DeviceClassifier::Part DeviceClassifier::OpenPart() const {
  Part part{InWindow(second_.end() - kNanosPerSecond), InWindow(second_.end())};
  part.from = std::max(part.from, held_.cursor());  // before it the device was read by holding
  return part;
}

std::int64_t DeviceClassifier::InWindow(std::int64_t time) const {
  if (window_ == nullptr) return time;
  if (window_->start) time = std::max(time, window_->start->nanos());
  if (window_->end) time = std::min(time, window_->end->nanos());
  return time;
}

void DeviceClassifier::CloseSecond() {
  const Part part = OpenPart();
  last_edge_ = std::max(first_, part.to);
  if (part.to > part.from) {
    const Cell& cell = second_.Mean(part.to - part.from, last_readings_, cadence_);
    if (cell.covered_ns > 0) ticks_.OnObserved(cell.covered_ns, cell.area);
    cells_.Add(cell, max_sm_khz_, totals_);
  }
  second_.Forget();
}

// --- one reading a second or slower: held forward

void DeviceClassifier::FeedHeld(const Sample& s, std::int64_t time) {
  const std::int64_t to = InWindow(time);
  collections_.OnRow(s, time, counter_bit_);
  if (held_.cursor() == INT64_MIN) {
    held_.Begin(to);
    first_ = std::min(first_, to);
  }
  Advance(to);
  last_edge_ = held_.cursor();
  const std::int64_t until = time + cadence_.max_gap.count();
  if ((s.present & counter_bit_) != 0) {
    const std::int64_t value = s.Get(*cadence_.counter);
    held_.Hold(value, until);
    ticks_.CloseBlocks(time, totals_);
    ticks_.OnReading(time, value, totals_);
  } else if ((s.unavailable & counter_bit_) != 0) {
    held_.HoldNothing(s.reason, until);
  } else if (counter_bit_ == 0) {  // what is read of the device lacks one
    held_.HoldNothing(Unobserved::kUnsupported, until);
  }
  for (std::uint32_t bits = s.present & kHeld; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    last_readings_[i] = {s.value[i], time};
  }
  last_readings_.Forget(s.unavailable & kHeld);
}

void DeviceClassifier::Advance(std::int64_t to) {
  while (const Cell* cell = held_.Advance(to, last_readings_, cadence_)) cells_.Add(*cell, max_sm_khz_, totals_);
}

void DeviceClassifier::CloseHeld() {
  if (const Cell* cell = held_.TakeOpen()) cells_.Add(*cell, max_sm_khz_, totals_);
}

void DeviceClassifier::CloseOpen() {
  if (!fast_) {
    CloseHeld();
  } else if (second_.open()) {
    CloseSecond();
  }
}

void DeviceClassifier::Close() {
  SettleUsual();
  CloseOpen();
  ticks_.CloseBlocks(INT64_MAX / 4, totals_);
  cells_.Flush(totals_);
}

}  // namespace idleburn
