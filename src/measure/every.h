#pragma once

#include <algorithm>

#include "base/time.h"

namespace idleburn {

// Which ticks a slower part of a lane takes: the first, then one a period, on a grid that late ticks do not move.
class Every {
 public:
  explicit Every(Nanos period) : period_(period) {}

  // A tick a little early is due too: ticks come when they come.
  bool Due(Instant now) {
    const Nanos slack = std::min(period_ / 4, Nanos(25'000'000));
    if (started_ && now + slack < next_) return false;
    if (!started_ || now - next_ >= period_) next_ = now;
    started_ = true;
    next_ = next_ + period_;
    return true;
  }

 private:
  Nanos period_;
  Instant next_;
  bool started_ = false;
};

}  // namespace idleburn
