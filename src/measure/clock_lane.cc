#include "measure/clock_lane.h"

#include <string>

#include "text/duration.h"

namespace idleburn {
namespace {

constexpr Nanos kJump(100'000'000);  // more than any clock is slewed between two ticks

}  // namespace

void ClockLane::Tick(Instant now, LiveSink& out) {
  const ClockReading read = clock_->Read();
  if (last_) {
    const Nanos slept = (read.boot - read.monotonic) - (last_->boot - last_->monotonic);
    const Nanos step = (read.wall - last_->wall) - (read.boot - last_->boot);
    if (slept > kJump) {
      out.OnNote(
          {now, NoteKind::kSuspend, "the machine slept for " + SecondsText(slept) + ", which this run leaves out"});
    }
    if (step > kJump || step < -kJump) {
      out.OnNote({now, NoteKind::kClockStep,
                  "the wall clock was set " + std::string(step > kJump ? "forward by " : "back by ") +
                      SecondsText(step > kJump ? step : -step) + "; times of this run go on as before"});
    }
  }
  last_ = read;
}

}  // namespace idleburn
