#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "base/int128.h"
#include "telemetry/sample.h"

namespace idleburn {

// The last reading of every signal of a device.
class LastReadings {
 public:
  struct Reading {
    std::int64_t value = 0;
    std::int64_t time = INT64_MIN;  // INT64_MIN: never read
  };

  Reading& operator[](std::size_t signal) { return readings_[signal]; }
  const Reading& operator[](std::size_t signal) const { return readings_[signal]; }

  // Whether it is no older than `hold` at `time`.
  [[nodiscard]] bool Holds(std::size_t signal, std::int64_t time, std::int64_t hold) const {
    const Reading& reading = readings_[signal];
    return reading.time != INT64_MIN && time - reading.time < hold;
  }
  [[nodiscard]] std::optional<std::int64_t> Known(Signal signal) const {
    const Reading& reading = readings_[Index(signal)];
    return reading.time == INT64_MIN ? std::nullopt : std::optional(reading.value);
  }
  // A source said that these have no value, so what was read before is not held any more.
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
  // Readings at `time` follow; those of another time are done with.
  void Begin(std::int64_t time) {
    if (time_ == time) return;
    time_ = time;
    signals_ = 0;
  }
  // What the readings come to with `value` as one more; `before`: so far.
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
  std::uint32_t signals_ = 0;  // with several readings
  std::array<std::int64_t, kSignalCount> sum_{};
  std::array<std::int64_t, kSignalCount> readings_{};
};

}  // namespace idleburn
