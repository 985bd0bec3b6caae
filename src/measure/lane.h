#pragma once

#include "base/time.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// Something the sampler's one thread reads again and again: the GPUs of a driver, the host, a workload's processes.
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
};

}  // namespace idleburn
