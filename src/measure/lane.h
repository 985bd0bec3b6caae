#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "measure/call_times.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// Something that a thread of the sampler reads again and again: the GPUs of a driver, the host, a workload's processes.
// A lane keeps what it needs open between ticks and reads its slower parts on some of its ticks only.
class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  virtual ~Lane() = default;

  // Reads what is due and pushes it, stamped with `now` unless the source stamps its own readings. Never fails: what
  // cannot be read is unavailable in the samples, and noted once.
  virtual void Tick(Instant now, LiveSink& out) = 0;
  // After the last tick: pushes what the lane still holds back, and then lets go of its driver.
  virtual void Finish(Instant /*now*/, LiveSink& /*out*/) {}

  // For lanes that call into a driver, which may not return. These three are called by another thread than Tick's,
  // also while Tick hangs.
  //
  // The call that has not returned yet, as a person would look it up; empty if none.
  [[nodiscard]] virtual std::string Pending() const { return {}; }
  // Tick hangs: says of everything the lane reads that its values are stale.
  virtual void PushStale(Instant /*now*/, LiveSink& /*out*/) {}
  // The thread of a hanging Tick is given up: when the call returns after all, nothing outside the lane may be touched.
  virtual void Abandon() {}

  // How long the calls of the lane took; not while it ticks.
  [[nodiscard]] virtual std::vector<CallTimes> Calls() const { return {}; }
};

}  // namespace idleburn
