#include "watch/held_stretch.h"

#include "classify/cell.h"

namespace idleburn {

void HeldStretch::Feed(const Sample& sample) {
  if (last_ && sample.time < *last_) Break();
  NoteSides(sample);
  if (sample.Has(Signal::kUtilization) && by_engine_) {
    by_engine_ = false;
    Break();
  }
  const Signal counter = by_engine_ ? Signal::kGrEngineActive : Signal::kUtilization;
  if (sample.Lacks(counter)) Break();
  if (sample.Has(counter)) AddReading(sample.time, sample.Get(counter));
}

// Remembers who holds the GPU and its power, which are read less often than utilization.
void HeldStretch::NoteSides(const Sample& sample) {
  const auto note = [&](Side& side, Signal signal) {
    if (sample.Has(signal)) side = {sample.Get(signal), sample.time};
    if (sample.Lacks(signal)) side.time.reset();
  };
  note(processes_, Signal::kProcesses);
  note(memory_, Signal::kMemoryUsed);
  note(power_, Signal::kPower);
  if (sample.Has(Signal::kPowerLimit)) power_limit_ = sample.Get(Signal::kPowerLimit);
}

// Adds a reading to the open second.
void HeldStretch::AddReading(Instant time, std::int64_t value) {
  if (last_ && time - *last_ > kHold) Break();
  const std::int64_t second = time.nanos() / kNanosPerSecond;
  if (count_ > 0 && second != second_) CloseSecond(second);
  if (count_ == 0) first_ = time;
  last_ = time;
  second_ = second;
  sum_ += value;
  ++count_;
  const std::optional<std::int64_t> power = Known(power_);
  if (value != 0 || !power) return;
  broken_counter_ = broken_counter_ || IsBrokenZero(*thresholds_, by_engine_, *power, power_limit_);
}

// Closes the open second. Seconds without readings up to `next` repeat it.
void HeldStretch::CloseSecond(std::int64_t next) {
  const State state = StateOfSecond();
  until_ = Instant::FromNanos(next * kNanosPerSecond);
  const auto go_on = [&](std::optional<Instant>& since, bool holds) {
    if (!holds) since.reset();
    if (holds && !since) since = first_;
  };
  go_on(held_since_, state == State::kHeld);
  go_on(idle_since_, state != State::kActive);
  sum_ = 0;
  count_ = 0;
  broken_counter_ = false;
}

// The state of the open second. The process list decides whether the GPU is held; memory only without a list.
HeldStretch::State HeldStretch::StateOfSecond() const {
  if (broken_counter_ || PhaseOf(sum_, count_, *thresholds_) != Phase::kIdle) return State::kActive;
  if (const std::optional<std::int64_t> processes = Known(processes_)) {
    return *processes > 0 ? State::kHeld : State::kEmpty;
  }
  const std::optional<std::int64_t> memory = Known(memory_);
  if (!memory) return State::kActive;
  return *memory >= thresholds_->held_memory ? State::kHeld : State::kEmpty;
}

std::optional<std::int64_t> HeldStretch::Known(const Side& side) const {
  if (!side.time || !last_ || *last_ - *side.time > thresholds_->side_hold) return std::nullopt;
  return side.value;
}

// Ends the stretches because time is unknown.
void HeldStretch::Break() {
  held_since_.reset();
  idle_since_.reset();
  last_.reset();
  sum_ = 0;
  count_ = 0;
  broken_counter_ = false;
}

}  // namespace idleburn
