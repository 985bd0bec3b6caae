#pragma once

#include <cstdint>

#include "classify/cadence.h"
#include "classify/cell.h"
#include "classify/last_readings.h"

namespace idleburn {

// How a device is read that reports once a second or more seldom: each reading is held until the next, but no longer
// than the cadence says. A second's value is the mean of what was held, weighted by time; what nothing covers is
// unobserved.
//
// Holds the busy counter's reading, how far the account has come, and the second that is open there.
class HeldReadings {
 public:
  // How far the account has come, in nanoseconds; INT64_MIN before the first reading.
  [[nodiscard]] std::int64_t cursor() const { return cursor_; }
  void Begin(std::int64_t at) { cursor_ = at; }

  // From the cursor until `until` the busy counter reads `value`.
  void Hold(std::int64_t value, std::int64_t until) {
    valid_ = true;
    value_ = value;
    until_ = until;
  }
  // From the cursor until `until` it has no value, and why.
  void HoldNothing(Unobserved why, std::int64_t until) {
    valid_ = false;
    why_ = why;
    until_ = until;
  }
  // What is held was `value`.
  void Amend(std::int64_t value) { value_ = value; }
  // Holds it for `ns` longer; not what a step of the clock ended.
  void Prolong(std::int64_t ns) {
    const bool clock_step = !valid_ && why_ == Unobserved::kClock;
    if (!clock_step && until_ != INT64_MIN) until_ += ns;
  }
  void Forget() {
    valid_ = false;
    until_ = INT64_MIN;
  }
  [[nodiscard]] bool valid() const { return valid_; }
  [[nodiscard]] Unobserved why() const { return why_; }
  // Signals beside the counter that were read.
  void Follow(std::uint32_t signals) { followed_ |= signals; }

  // Accounts for the time up to `to`. Returns the next second that is complete, or several equal ones as one cell, and
  // is to be called again until it returns nullptr, when the account is there. The cell lives until the next call.
  const Cell* Advance(std::int64_t to, const LastReadings& last, const Cadence& cadence);
  // The second that is open, as far as it came, which is closed by that; nullptr if none is.
  const Cell* TakeOpen();

 private:
  [[nodiscard]] std::int64_t SideHold(std::size_t signal, bool observed, const Cadence& cadence) const;
  void AddPiece(std::int64_t ns, std::uint32_t valid, bool observed, Unobserved why, const LastReadings& last);
  const Cell* Done() {
    begun_ = false;
    done_ = true;
    return &cell_;
  }

  std::int64_t cursor_ = INT64_MIN;
  std::int64_t value_ = 0;
  std::int64_t until_ = INT64_MIN;
  Unobserved why_ = Unobserved::kUnsupported;  // until then, while no valid reading is held
  bool valid_ = false;
  std::uint32_t followed_ = 0;
  Cell cell_;
  bool begun_ = false;  // cell_ has time in it
  bool done_ = false;   // cell_ was returned, and is cleared before its next use
};

}  // namespace idleburn
