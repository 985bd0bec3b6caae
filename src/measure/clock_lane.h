#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "measure/lane.h"
#include "os/run_clock.h"

namespace idleburn {

// Notes that somebody set the wall clock, or that the machine slept. Neither moves the time line of a run.
class ClockLane final : public Lane {
 public:
  explicit ClockLane(std::shared_ptr<RunClock> clock) : clock_(std::move(clock)) {}
  void Tick(Instant now, LiveSink& out) override;

 private:
  std::shared_ptr<RunClock> clock_;
  std::optional<ClockReading> last_;
};

}  // namespace idleburn
