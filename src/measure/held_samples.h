#pragma once

#include <cstdint>
#include <vector>

#include "telemetry/sample.h"

namespace idleburn {

// Puts the readings of one device in order of time: those the driver stamps describe a moment before they can be
// read, those stamped when read are held until the driver's have caught up.
class HeldSamples {
 public:
  void Add(const Sample& sample);
  // Adds a sample, and moves what then stands at or before `until` to `out`.
  void Pass(const Sample& sample, Instant until, std::vector<Sample>& out);
  // Moves what stands at or before `until` to `out`.
  void Release(Instant until, std::vector<Sample>& out);
  // Somebody else said something about the device at `time`: nothing before it may be said any more.
  void Forbid(Instant time);
  [[nodiscard]] const std::vector<Sample>& held() const { return held_; }
  // Readings that came after something later had been passed on, and were left out.
  [[nodiscard]] std::int64_t too_late() const { return too_late_; }

 private:
  std::vector<Sample> held_;  // in order of time
  Instant released_ = Instant::FromNanos(INT64_MIN);
  std::int64_t too_late_ = 0;
};

}  // namespace idleburn
