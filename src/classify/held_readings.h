#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "base/int128.h"
#include "classify/cadence.h"
#include "classify/cell.h"
#include "telemetry/sample.h"

namespace idleburn {

// How a device is read that reports once a second or more seldom. HeldReadings holds each reading until the next; what
// was read last of every signal is in LastReadings, which dense reading needs as well. SameStamp settles what several
// rows of one time come to.

// The last reading of every signal of a device.
class LastReadings {
 public:
  struct Reading {
    std::int64_t value = 0;
    // In nanoseconds since the epoch; INT64_MIN: never read.
    std::int64_t time = INT64_MIN;
  };

  Reading& operator[](std::size_t signal) { return readings_[signal]; }
  const Reading& operator[](std::size_t signal) const { return readings_[signal]; }

  // Whether the last reading is no older than `hold` nanoseconds at `time`.
  [[nodiscard]] bool Holds(std::size_t signal, std::int64_t time, std::int64_t hold) const {
    const Reading& reading = readings_[signal];
    return reading.time != INT64_MIN && time - reading.time < hold;
  }
  // The last reading, however old; absent: never read.
  [[nodiscard]] std::optional<std::int64_t> Known(Signal signal) const {
    const Reading& reading = readings_[Index(signal)];
    return reading.time == INT64_MIN ? std::nullopt : std::optional(reading.value);
  }
  // A source said that these signals have no value. What was read of them before is not held any more.
  void Forget(std::uint32_t signals) {
    for (std::uint32_t bits = signals; bits != 0; bits &= bits - 1) {
      readings_[static_cast<std::size_t>(std::countr_zero(bits))].time = INT64_MIN;
    }
  }

 private:
  std::array<Reading, kSignalCount> readings_{};
};

// Several readings of one signal that carry one stamp. The stamp is coarser than the readings, so it does not tell when
// each was read, and each speaks for the same part of it: a gauge is their mean. The largest would make a square wave
// of 0 % and 100 % a full load. Memory, temperature and processes count as the most that was read, flags as the last.
//
// Wrong where a fault repeated rows unevenly: 0, 100, 100 of one stamp may have been 0, 100.
class SameStamp {
 public:
  // Readings at `time` follow. Those of another time are done with.
  void Begin(std::int64_t time) {
    if (time_ == time) return;
    time_ = time;
    signals_ = 0;
  }
  // Takes `value` as one more reading of the stamp. Returns what all of them come to; `before` is what they came to so
  // far.
  std::int64_t Add(Signal signal, std::int64_t before, std::int64_t value) {
    constexpr std::uint32_t kLargest = Bit(Signal::kMemoryUsed) | Bit(Signal::kTemperature) | Bit(Signal::kProcesses);
    const std::size_t i = Index(signal);
    if ((signals_ & Bit(signal)) == 0) {
      signals_ |= Bit(signal);
      sum_[i] = before;
      readings_[i] = 1;
    }
    sum_[i] += value;
    ++readings_[i];
    if ((kLargest & Bit(signal)) != 0) return std::max(before, value);
    if (signal == Signal::kEventReasons) return value;
    return static_cast<std::int64_t>(DivHalfEven(sum_[i], readings_[i]));
  }

 private:
  std::int64_t time_ = INT64_MIN;
  // Signals with several readings, and the sums and numbers of these.
  std::uint32_t signals_ = 0;
  std::array<std::int64_t, kSignalCount> sum_{};
  std::array<std::int64_t, kSignalCount> readings_{};
};

// Each reading is held until the next, but no longer than the cadence says. A second's value is the mean of what was
// held, weighted by time. What nothing covers is unobserved.
//
// This holds the busy counter's reading, how far the account has come, and the second that is open there.
class HeldReadings {
 public:
  // How far the account has come, in nanoseconds since the epoch; INT64_MIN before the first reading.
  [[nodiscard]] std::int64_t cursor() const { return cursor_; }
  void Begin(std::int64_t at) { cursor_ = at; }

  // From the cursor until `until` the busy counter reads `value`.
  void Hold(std::int64_t value, std::int64_t until) {
    valid_ = true;
    value_ = value;
    until_ = until;
  }
  // From the cursor until `until` it has no value, for this reason.
  void HoldNothing(Unobserved why, std::int64_t until) {
    valid_ = false;
    why_ = why;
    until_ = until;
  }
  // The reading that is held was `value`.
  void Amend(std::int64_t value) { value_ = value; }
  // Holds the reading for `ns` longer. What a step of the clock ended is not held longer.
  void Prolong(std::int64_t ns) {
    const bool clock_step = !valid_ && why_ == Unobserved::kClock;
    if (!clock_step && until_ != INT64_MIN) until_ += ns;
  }
  // Nothing is held from here on.
  void Forget() {
    valid_ = false;
    until_ = INT64_MIN;
  }
  // Whether a reading is held; if none is, why.
  [[nodiscard]] bool valid() const { return valid_; }
  [[nodiscard]] Unobserved why() const { return why_; }
  // These signals beside the counter were read, and are held from now on.
  void Follow(std::uint32_t signals) { followed_ |= signals; }

  // Accounts for the time up to `to`. Returns the next second that is complete, or several equal ones as one cell. It
  // is to be called again until it returns nullptr: then the account has come to `to`. A cell lives until the next
  // call.
  const Cell* Advance(std::int64_t to, const LastReadings& last, const Cadence& cadence);
  // Closes the second that is open and returns it as far as it came; nullptr if none is open.
  const Cell* TakeOpen();

 private:
  // For how long a signal beside the counter is held. `observed`: the counter has a reading now.
  [[nodiscard]] std::int64_t SideHold(std::size_t signal, bool observed, const Cadence& cadence) const;
  // Adds `ns` nanoseconds over which nothing changes.
  void AddPiece(std::int64_t ns, std::uint32_t valid, bool observed, Unobserved why, const LastReadings& last);
  // The cell is complete; it is cleared before its next use.
  const Cell* Done() {
    begun_ = false;
    done_ = true;
    return &cell_;
  }

  std::int64_t cursor_ = INT64_MIN;
  std::int64_t value_ = 0;
  std::int64_t until_ = INT64_MIN;
  // The reason until then, while no valid reading is held.
  Unobserved why_ = Unobserved::kUnsupported;
  bool valid_ = false;
  std::uint32_t followed_ = 0;
  Cell cell_;
  // The cell has time in it.
  bool begun_ = false;
  // The cell was returned, and is cleared before its next use.
  bool done_ = false;
};

}  // namespace idleburn
