#pragma once

#include <cstdint>

#include "base/time.h"

namespace idleburn {

// Absolute ticks on a clock that is never set: start + n x period, so that a late tick delays no other. A tick whose
// time has passed before the work of an earlier one ended is missed, counted and not made up for.
class Ticks {
 public:
  // `period` is at least 1 ns.
  Ticks(Nanos start, Nanos period) : period_(period), next_(start) {}

  [[nodiscard]] Nanos next() const { return next_; }
  [[nodiscard]] std::int64_t missed() const { return missed_; }
  // The tick at next() was served and it is `now`: moves on to the first tick after `now`, at least by one.
  void Served(Nanos now);

 private:
  Nanos period_;
  Nanos next_;
  std::int64_t missed_ = 0;
};

}  // namespace idleburn
