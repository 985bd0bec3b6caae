#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "measure/call_times.h"
#include "measure/lane.h"
#include "os/run_clock.h"
#include "telemetry/live_sink.h"

namespace idleburn {

struct SamplerOptions {
  Nanos period{100'000'000};
  Nanos hang_after{5 * kNanosPerSecond};  // a tick that takes longer hangs
  Nanos patience{500'000'000};            // how long Stop waits for a tick under way
};

struct SamplerStatistics {
  std::int64_t ticks = 0;  // served
  std::int64_t missed = 0;
  Nanos late_p50{0};  // how long after its time a tick began
  Nanos late_p99{0};
  Nanos late_max{0};
  Nanos work_p50{0};  // how long serving it took
  Nanos work_p99{0};
  Nanos work_max{0};
  std::vector<CallTimes> calls;
  bool abandoned = false;  // a call never returned: its thread was left behind, the rest here is empty
};

// Serves lanes on one thread, at absolute ticks, and watches that thread from another. A tick that hangs hurts nobody:
// what it reads is said to be stale, and Stop leaves the thread behind.
class Sampler {
 public:
  // `sink` lives until Stop; it is called by one thread at a time, never after Stop.
  Sampler(const SamplerOptions& options, std::shared_ptr<RunClock> clock, const TimeLine& line,
          std::vector<std::unique_ptr<Lane>> lanes, LiveSink& sink);
  ~Sampler();  // stops
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Once.
  void Start();
  // Returns after the last sample was pushed, or after options.patience if a call hangs.
  void Stop();

  // The sink, for what other threads have to say at the same time; not after Stop.
  LiveSink& sink();
  // After Stop.
  [[nodiscard]] const SamplerStatistics& statistics() const { return statistics_; }

 private:
  struct Shared;

  SamplerOptions options_;
  std::shared_ptr<Shared> shared_;  // with the thread, which may have to be left behind
  std::jthread ticking_;
  std::jthread watching_;
  SamplerStatistics statistics_;
};

}  // namespace idleburn
