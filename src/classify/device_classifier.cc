#include "classify/device_classifier.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace idleburn {
namespace {

constexpr std::uint32_t kFacts = Bit(Signal::kPowerLimit) | Bit(Signal::kPowerDefaultLimit) | Bit(Signal::kMaxSmClock) |
                                 Bit(Signal::kMemoryTotal) | Bit(Signal::kXid) | Bit(Signal::kNvlink);
constexpr std::array<Signal, 3> kRemembered = {Signal::kPowerLimit, Signal::kPowerDefaultLimit, Signal::kMaxSmClock};
constexpr std::uint32_t kProfiling = Bit(Signal::kGrEngineActive) | Bit(Signal::kSmActive);
constexpr std::uint32_t kHeld = HeldMask();
constexpr std::uint32_t kLargest = Bit(Signal::kMemoryUsed) | Bit(Signal::kTemperature) | Bit(Signal::kProcesses);
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

std::int64_t FloorSecond(std::int64_t ns) { return ns / kNanosPerSecond - (ns % kNanosPerSecond < 0 ? 1 : 0); }

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
      ticks_(thresholds, cadence) {
  ForgetOpenCell();
}

void DeviceClassifier::Adopt(const Cadence& cadence, Instant next) {
  SettleUsual();
  const bool fast = cadence.Fast(*thresholds_);
  const bool reads_on = cadence.counter == cadence_.counter && cadence.counter;
  const bool clock_step = !held_valid_ && held_reason_ == Unobserved::kClock;
  if (reads_on && !fast_ && !clock_step && held_until_ != INT64_MIN)
    held_until_ += (cadence.max_gap - cadence_.max_gap).count();
  if (fast != fast_) collections_.Forget();
  if (last_time_ == INT64_MIN) {
    // Nothing was read yet.
  } else if (fast && !fast_) {
    Advance(InWindow(FloorSecond(next.nanos() + clock_.shift()) * kNanosPerSecond));
    if (open_used_) CloseSlowCell();
  } else if (fast_ && !fast) {
    CloseFastCell();
    cursor_ = InWindow(cell_end_);
    cell_end_ = INT64_MIN;
    held_valid_ = reads_on && (lacked_ & counter_bit_) == 0;
    held_value_ = ticks_.last_value();
    held_until_ = ticks_.last_time() + cadence.max_gap.count();
  }
  ticks_.CloseBlocks(INT64_MAX / 4, totals_);
  cadence_ = WithHolds(cadence, *thresholds_);
  fast_ = fast;
  counter_bit_ = cadence.counter ? Bit(*cadence.counter) : 0;
  counter_slot_ = CounterSlot(cadence);
  hold_ = HoldOf(cadence);
  cells_.set_by_engine(cadence.counter == Signal::kGrEngineActive);
  ticks_ = TickCounter(*thresholds_, cadence);
  usual_ = UINT32_MAX;
  fast_reason_ = Unobserved::kGap;
}

void DeviceClassifier::set_holds(const Cadence& cadence) { cadence_.hold = WithHolds(cadence, *thresholds_).hold; }

std::optional<std::int64_t> DeviceClassifier::Known(Signal s) const {
  const Side& side = side_[Index(s)];
  return side.time == INT64_MIN ? std::nullopt : std::optional(side.value);
}

// How long a side reading is held. In a gap of the counter nothing was read, so there nothing outlasts the counter.
std::int64_t DeviceClassifier::SideHold(std::size_t signal, bool observed) const {
  const std::int64_t hold = cadence_.hold[signal];
  return held_valid_ && !observed ? std::min(hold, cadence_.max_gap.count()) : hold;
}

// Readings that said that there is no value: what was read before is not held across them.
void DeviceClassifier::ForgetSides(std::uint32_t signals) {
  for (std::uint32_t bits = signals; bits != 0; bits &= bits - 1) {
    side_[static_cast<std::size_t>(std::countr_zero(bits))].time = INT64_MIN;
  }
}

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
      if (!fast_) {
        held_valid_ = false;
        held_reason_ = Unobserved::kClock;
        held_until_ = stamp + clock_.shift();
      }
      return true;
    case Row::kAgain:
      ++totals_.duplicates;
      usual_ = UINT32_MAX;  // the clock is to see where it ends
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

inline void DeviceClassifier::FeedFast(const Sample& s, std::int64_t time) {
  if (time >= cell_end_) BeginFastCell(time);
  if ((s.present & counter_bit_) != 0) {
    const std::int64_t value = s.Get(*cadence_.counter);
    tick_sum_ += value;
    ++tick_count_;
    ticks_.OnReading(time, value, totals_);
  } else if ((s.unavailable & counter_bit_) != 0) {
    fast_reason_ = s.reason;
  }
  for (std::uint32_t bits = s.present & AveragedMask(); bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    const std::size_t slot = kMeasuredSlot[i];
    read_slots_ |= std::uint32_t{1} << slot;
    side_sum_[slot] += s.value[i];
    ++side_count_[slot];
    side_[i] = {s.value[i], time};
  }
  ForgetSides(s.unavailable & kHeld);
  if (s.Has(Signal::kEventReasons)) {
    CountReasons(s.Get(Signal::kEventReasons), 1);
    side_[Index(Signal::kEventReasons)] = {s.Get(Signal::kEventReasons), time};
  }
}

// Accounts for the samples that FeedUsual took.
void DeviceClassifier::SettleUsual() {
  if (usual_count_ == 0) return;
  totals_.samples += usual_count_;
  tick_count_ += usual_count_;
  for (const Averaged signal : std::span(usual_signal_).first(usual_signals_)) {
    side_count_[signal.slot] += usual_count_;
    side_[signal.index].time = last_time_;
  }
  said_ = usual_;
  lacked_ = 0;
  usual_count_ = 0;
}

// Expects more samples like this one, if FeedUsual does all that one needs.
void DeviceClassifier::ChooseUsual(const Sample& sample) {
  if (sample.present == usual_) return;
  usual_ = UINT32_MAX;
  const std::uint32_t sides = sample.present & AveragedMask();
  if (!fast_ || (sample.present & counter_bit_) == 0 || (sample.present & ~(AveragedMask() | counter_bit_)) != 0 ||
      (sample.present & kRare) != 0) {
    return;
  }
  usual_ = sample.present;
  usual_signals_ = 0;
  for (std::uint32_t bits = sides; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    usual_signal_[usual_signals_++] = {i, kMeasuredSlot[i]};
  }
}

// What FeedUsual needs of the rows. Returns whether one of them has a value beyond every one before, as few have.
bool DeviceClassifier::SumUsual(const SampleColumns& columns, std::span<const std::uint32_t> rows, RowSums& sums) {
  std::array<RowSums::Column, kAveragedCount + 1> summed;
  const auto column = [&](std::size_t signal, std::size_t slot) {
    return RowSums::Column{columns.values[signal], totals_.range[slot].peak};
  };
  for (std::size_t k = 0; k < usual_signals_; ++k) summed[k] = column(usual_signal_[k].index, usual_signal_[k].slot);
  summed[usual_signals_] = column(Index(*cadence_.counter), counter_slot_);
  return sums.Set(std::span(summed).first(usual_signals_ + 1), rows);
}

// The rows are those that FeedUsual takes.
void DeviceClassifier::NoteUsualPeaks(const SampleColumns& columns, std::span<const std::uint32_t> rows) {
  const auto note = [&](std::size_t slot, const std::int64_t* values) {
    for (const std::uint32_t row : rows) {
      if (values[row] > totals_.range[slot].peak)
        RaisePeak(slot, values[row], columns.times[row].nanos() + clock_.shift());
    }
  };
  for (std::size_t k = 0; k < usual_signals_; ++k) note(usual_signal_[k].slot, columns.values[usual_signal_[k].index]);
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
    if (time >= cell_end_) BeginUsualCell(time);
    if (at == counted) counted = ticks_.OnReadings(readings, at, cell_end_, totals_);
    std::size_t to = std::min(at + in_second, counted);
    while (to < counted && time_of(to) < cell_end_) ++to;
    while (time_of(to - 1) >= cell_end_) --to;
    AddSums(sums, at, to);
    last_time_ = time_of(to - 1);
    in_second = to - at;
    at = to;
  }
  for (const Averaged signal : std::span(usual_signal_).first(usual_signals_)) {
    side_[signal.index].value = columns.values[signal.index][rows.back()];
  }
}

// Adds the rows [from, to) to the open second.
void DeviceClassifier::AddSums(const RowSums& sums, std::size_t from, std::size_t to) {
  std::array<std::int64_t, kAveragedCount + 2> sum;  // not cleared: a part of it is used
  sums.SumsOf(from, to, sum.data());
  for (std::size_t k = 0; k < usual_signals_; ++k) side_sum_[usual_signal_[k].slot] += sum[k];
  tick_sum_ += sum[usual_signals_];
  usual_count_ += static_cast<std::int64_t>(to - from);
}

void DeviceClassifier::Feed(const SampleColumns& columns, std::span<const std::uint32_t> rows, RowSums& sums) {
  const auto is_usual = [&](std::uint32_t row) {
    return columns.present == usual_ && IsNext(columns.times[row].nanos() + clock_.shift());
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

// What the readings of one signal and stamp come to, with `value` as one more; `before`: so far. A stamp that is
// coarser than the readings does not tell when each was read, so each speaks for the same part of it: a gauge is their
// mean. The largest would make a square wave of 0 % and 100 % a full load. Memory, temperature and processes count
// as the most that was read, flags as the last. Wrong where rows were repeated unevenly by a fault: 0, 100, 100 of one
// stamp may have been 0, 100.
std::int64_t DeviceClassifier::ValueOfStamp(Signal signal, std::int64_t before, std::int64_t value) {
  const std::size_t i = Index(signal);
  if ((stamp_.signals & Bit(signal)) == 0) {
    stamp_.signals |= Bit(signal);
    stamp_.sum[i] = before;
    stamp_.readings[i] = 1;
  }
  stamp_.sum[i] += value;
  ++stamp_.readings[i];
  if ((kLargest & Bit(signal)) != 0) return std::max(before, value);
  if (signal == Signal::kEventReasons) return value;
  return static_cast<std::int64_t>(DivHalfEven(stamp_.sum[i], stamp_.readings[i]));
}

// Readings of one signal and time. Counted again, equal ones of a log that is there twice change nothing.
void DeviceClassifier::AverageRepeated(const Sample& sample) {
  if (stamp_.time != last_time_) {
    stamp_.time = last_time_;
    stamp_.signals = 0;
  }
  bool differs = false;
  if (!fast_) collections_.OnRow(sample, last_time_, counter_bit_);
  for (std::uint32_t bits = sample.present & said_ & (kHeld | counter_bit_); bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    const std::uint32_t bit = bits & ~(bits - 1);
    const std::int64_t before = bit == counter_bit_ ? ticks_.last_value() : side_[i].value;
    differs = differs || sample.value[i] != before;
    const std::int64_t value = ValueOfStamp(static_cast<Signal>(i), before, sample.value[i]);
    if (value == before) continue;
    if (bit == counter_bit_) {
      tick_sum_ += fast_ ? value - before : 0;
      held_value_ = value;
      ticks_.Amend(value, totals_);
    }
    if ((bit & kHeld) == 0) continue;
    side_[i].value = value;
    if (!fast_) continue;
    if ((bit & AveragedMask()) != 0) {
      side_sum_[kMeasuredSlot[i]] += value - before;
    } else {
      CountReasons(before, -1);
      CountReasons(value, 1);
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
  held_read_ |= sample.present & kHeld;
  NotePeaks(sample, time);
  if (fast_) {
    FeedFast(sample, time);
  } else {
    FeedSlow(sample, time);
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
    if (s.Has(fact)) side_[Index(fact)] = {s.Get(fact), s.time.nanos()};
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
  if (one_run || (cadence_.spans && held_valid_) || stretches_.size() >= kMostStretches) return INT64_MAX;
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
  DeviceTotals totals = std::exchange(totals_, {});  // not copied: they are large
  std::vector<Stretch> stretches = std::exchange(stretches_, {});
  DeviceClassifier on = *this;
  totals_ = std::move(totals);
  stretches_ = std::move(stretches);
  on.Advance(time);
  if (on.open_used_) on.CloseSlowCell();
  on.cells_.Flush(on.totals_);
  return Silence::Of(on.totals_);
}

// Ends the stretch at its last row; another begins with the row at `time`. What was held before is not held any more.
void DeviceClassifier::EndStretch(std::int64_t time) {
  if (fast_ && cell_end_ != INT64_MIN) CloseFastCell();
  if (!fast_ && open_used_) CloseSlowCell();
  cells_.Flush(totals_);
  Stretch ended = OpenStretch();
  ended.after = SilenceUntil(time);
  ended_.Merge(ended.time);
  stretches_.push_back(std::move(ended));
  begun_ = fast_ ? FloorSecond(time) * kNanosPerSecond : time;
  cell_end_ = INT64_MIN;
  if (!fast_) cursor_ = time;
  held_valid_ = false;
  held_until_ = INT64_MIN;
  ForgetSides(kHeld);
  stuck_since_ = {INT64_MIN, INT64_MIN};
  energy_crosses_ = last_energy_ >= 0;
}

std::vector<Stretch> DeviceClassifier::Stretches() const {
  std::vector<Stretch> all = stretches_;
  all.push_back(OpenStretch());
  return all;
}

// --- several readings a second: means of ticks

void DeviceClassifier::BeginFastCell(std::int64_t time) {
  const std::int64_t begin = FloorSecond(time) * kNanosPerSecond;
  const std::int64_t closed = cell_end_;
  if (closed != INT64_MIN) {
    CloseFastCell();
    if (begin > closed) cells_.AddGap(InWindow(begin) - InWindow(closed), totals_);
  }
  ticks_.CloseBlocks(time, totals_);
  cell_end_ = begin + kNanosPerSecond;
  if (closed == INT64_MIN) first_ = std::min(first_, OpenPart().from);
}

void DeviceClassifier::CountReasons(std::int64_t mask, std::int64_t times) {
  mask_count_ += times;
  if (mask == 0) return;
  for (std::size_t i = 0; i < kEventReasonCount; ++i) reason_count_[i] += ((mask >> i) & 1) * times;
  throttled_count_ += (mask & kThrottledMask) != 0 ? times : 0;
  slowdown_count_ += (mask & kSlowdownMask) != 0 ? times : 0;
  power_cap_count_ += (mask & kThrottledMask) == kPowerCapMask ? times : 0;
}

DeviceClassifier::Part DeviceClassifier::OpenPart() const {
  Part part{InWindow(cell_end_ - kNanosPerSecond), InWindow(cell_end_)};
  part.from = std::max(part.from, cursor_);  // before it the device was read by holding
  return part;
}

std::int64_t DeviceClassifier::InWindow(std::int64_t time) const {
  if (window_ == nullptr) return time;
  if (window_->start) time = std::max(time, window_->start->nanos());
  if (window_->end) time = std::min(time, window_->end->nanos());
  return time;
}

void DeviceClassifier::CloseFastCell() {
  const Part part = OpenPart();
  const std::int64_t span = part.to - part.from;
  last_edge_ = std::max(first_, part.to);
  if (span <= 0) return ForgetOpenCell();
  Cell& cell = closing_;
  cell.second = cell_end_ / kNanosPerSecond - 1;
  cell.covered_ns = tick_count_ > 0 ? span : 0;
  cell.area = 0;
  // Mostly all signals have as many readings as the counter.
  const SpanMean* mean = &MeanOver(span, std::max<std::int64_t>(tick_count_, 1));
  if (tick_count_ > 0) {
    cell.area = static_cast<std::int64_t>(mean->Of(tick_sum_));
    ticks_.OnObserved(span, cell.area);
  } else {
    cell.unobserved_ns[static_cast<std::size_t>(fast_reason_)] = span;
  }
  for (std::uint32_t bits = read_slots_; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    const Side& side = side_[Index(kMeasured[i])];
    cell.sides |= std::uint32_t{1} << i;
    if (side_count_[i] > 0) {
      if (side_count_[i] != mean->count()) mean = &MeanOver(span, side_count_[i]);
      cell.side[i] = {span, mean->Of(side_sum_[i])};
    } else if (Valid(side, cell_end_ - 1, cadence_.hold[Index(kMeasured[i])])) {
      cell.side[i] = {span, static_cast<Int128>(side.value) * span};
    } else {
      cell.side[i] = {};
      cell.sides &= ~(std::uint32_t{1} << i);
    }
  }
  const Side& mask = side_[Index(Signal::kEventReasons)];
  if (mask_count_ == 0 && Valid(mask, cell_end_ - 1, cadence_.hold[Index(Signal::kEventReasons)]))
    CountReasons(mask.value, 1);
  if (mask_count_ > 0) {
    const auto share = [&](std::int64_t count) { return span * count / mask_count_; };
    for (std::size_t i = 0; i < kEventReasonCount; ++i) cell.reason_ns[i] = share(reason_count_[i]);
    cell.throttled_ns = share(throttled_count_);
    cell.slowdown_ns = share(slowdown_count_);
    cell.power_cap_ns = share(power_cap_count_);
  }
  cell.reasons_ns = mask_count_ > 0 ? span : 0;
  cells_.Add(cell, max_sm_khz_, totals_);
  if (tick_count_ == 0) cell.unobserved_ns = {};
  if (mask_count_ > 0) {
    cell.reason_ns = {};
    cell.throttled_ns = cell.slowdown_ns = cell.power_cap_ns = 0;
  }
  ForgetOpenCell();
}

void DeviceClassifier::ForgetOpenCell() {
  for (std::uint32_t bits = read_slots_; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    side_sum_[i] = side_count_[i] = 0;
  }
  if (mask_count_ > 0) {
    mask_count_ = throttled_count_ = slowdown_count_ = power_cap_count_ = 0;
    reason_count_ = {};
  }
  tick_sum_ = tick_count_ = 0;
  // A counter that is read fast is there, so that a cell without a reading is a gap in it.
  fast_reason_ = counter_bit_ != 0 ? Unobserved::kGap : Unobserved::kUnsupported;
}

// --- one reading a second or slower: held forward

void DeviceClassifier::FeedSlow(const Sample& s, std::int64_t time) {
  const std::int64_t to = InWindow(time);
  collections_.OnRow(s, time, counter_bit_);
  if (cursor_ == INT64_MIN) {
    cursor_ = to;
    first_ = std::min(first_, to);
  }
  Advance(to);
  last_edge_ = cursor_;
  if ((s.present & counter_bit_) != 0) {
    held_valid_ = true;
    held_value_ = s.Get(*cadence_.counter);
    held_until_ = time + cadence_.max_gap.count();
    ticks_.CloseBlocks(time, totals_);
    ticks_.OnReading(time, held_value_, totals_);
  } else if ((s.unavailable & counter_bit_) != 0) {
    held_valid_ = false;
    held_reason_ = s.reason;
    held_until_ = time + cadence_.max_gap.count();
  } else if (counter_bit_ == 0) {  // what is read of the device lacks one
    held_valid_ = false;
    held_reason_ = Unobserved::kUnsupported;
    held_until_ = time + cadence_.max_gap.count();
  }
  for (std::uint32_t bits = s.present & kHeld; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    side_[i] = {s.value[i], time};
  }
  ForgetSides(s.unavailable & kHeld);
}

// Accounts for [cursor_, to) with what is held, in pieces over which nothing changes.
void DeviceClassifier::Advance(std::int64_t to) {
  while (cursor_ < to) {
    const bool held = cursor_ < held_until_;
    const bool observed = held_valid_ && held;
    std::int64_t end = held ? std::min(to, held_until_) : to;
    std::uint32_t valid = 0;
    for (std::uint32_t bits = held_read_; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(bits));
      const std::int64_t hold = SideHold(i, observed);
      if (!Valid(side_[i], cursor_, hold)) continue;
      valid |= bits & ~(bits - 1);
      end = std::min(end, side_[i].time + hold);
    }
    const Unobserved why = held ? held_reason_ : Unobserved::kGap;
    const std::int64_t second = FloorSecond(cursor_);
    const std::int64_t cell_end = (second + 1) * kNanosPerSecond;
    if (end <= cell_end || cursor_ != second * kNanosPerSecond) {
      const std::int64_t stop = std::min(end, cell_end);
      if (!open_used_) open_.second = second;
      HoldPiece(stop - cursor_, valid, observed, why);
      cursor_ = stop;
      if (stop == cell_end) CloseSlowCell();
      continue;
    }
    // Whole equal cells in one go.
    CHECK(!open_used_);
    const std::int64_t count = (end - cursor_) / kNanosPerSecond;
    open_.second = second;
    HoldPiece(kNanosPerSecond, valid, observed, why);
    open_.count = count;
    CloseSlowCell();
    cursor_ += count * kNanosPerSecond;
  }
}

// `valid`: the signals that are held throughout.
void DeviceClassifier::HoldPiece(std::int64_t ns, std::uint32_t valid, bool observed, Unobserved why) {
  open_used_ = true;
  if (observed) {
    open_.covered_ns += ns;
    open_.area += held_value_ * ns;
  } else {
    open_.unobserved_ns[static_cast<std::size_t>(why)] += ns;
  }
  for (std::uint32_t bits = valid & AveragedMask(); bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    open_.side[kMeasuredSlot[i]].Add(ns, side_[i].value);
    open_.sides |= std::uint32_t{1} << kMeasuredSlot[i];
  }
  if ((valid & Bit(Signal::kEventReasons)) == 0) return;
  open_.reasons_ns += ns;
  const std::int64_t mask = side_[Index(Signal::kEventReasons)].value;
  for (std::size_t i = 0; i < kEventReasonCount; ++i) open_.reason_ns[i] += ((mask >> i) & 1) * ns;
  open_.throttled_ns += (mask & kThrottledMask) != 0 ? ns : 0;
  open_.slowdown_ns += (mask & kSlowdownMask) != 0 ? ns : 0;
  open_.power_cap_ns += (mask & kThrottledMask) == kPowerCapMask ? ns : 0;
}

void DeviceClassifier::CloseSlowCell() {
  cells_.Add(open_, max_sm_khz_, totals_);
  open_.Clear();
  open_used_ = false;
}

void DeviceClassifier::Close() {
  SettleUsual();
  if (fast_ && cell_end_ != INT64_MIN) CloseFastCell();
  if (!fast_ && open_used_) CloseSlowCell();
  ticks_.CloseBlocks(INT64_MAX / 4, totals_);
  cells_.Flush(totals_);
}

}  // namespace idleburn
