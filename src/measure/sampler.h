#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "measure/call_times.h"
#include "measure/lane.h"
#include "measure/sink_gate.h"
#include "os/run_clock.h"
#include "telemetry/live_sink.h"

namespace idleburn {

struct SamplerOptions {
  Nanos period{100'000'000};
  Nanos hang_after{5 * kNanosPerSecond};  // a tick that takes longer hangs
  Nanos patience{500'000'000};            // how long Stop waits for ticks under way
};

// Of all threads together; those left behind count nothing.
struct SamplerStatistics {
  std::int64_t ticks = 0;  // served
  std::int64_t missed = 0;
  Spread late;  // how long after its time a tick began
  Spread work;  // how long serving it took
  std::vector<CallTimes> calls;
  bool abandoned = false;             // a call never returned: its thread was left behind
  std::vector<std::string> failures;  // what ended a thread, or kept it from starting: what it reads is unobserved
};

// Serves lanes at absolute ticks, on as many threads as there are things that may hang, and watches those threads from
// another. A tick that hangs hurts nobody: what it reads is said to be stale, the lanes of other threads go on, and
// Stop leaves the thread behind.
class Sampler {
 public:
  // `sink` lives until Stop; it is called by one thread at a time, never after Stop.
  Sampler(const SamplerOptions& options, std::shared_ptr<RunClock> clock, const TimeLine& line, LiveSink& sink);
  ~Sampler();  // stops
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Begins to serve these lanes on a thread of their own, which Stop waits for as long as `patience`, or
  // options.patience. Before Stop. Where no thread can be had, that is a failure of the statistics, and nothing is
  // read.
  void Serve(std::vector<std::unique_ptr<Lane>> lanes, std::optional<Nanos> patience = {});
  // Returns after the last sample was pushed, or when patience is over.
  void Stop();

  // The sink, for what other threads have to say at the same time; not after Stop.
  LiveSink& sink() { return *gate_; }
  // After Stop.
  [[nodiscard]] const SamplerStatistics& statistics() const { return statistics_; }

 private:
  struct Served;
  struct Group {
    std::shared_ptr<Served> served;  // with the thread, which may have to be left behind
    std::jthread ticking;
    std::jthread watching;
    Nanos patience{0};
  };

  SamplerOptions options_;
  std::shared_ptr<RunClock> clock_;
  TimeLine line_;
  std::shared_ptr<SinkGate> gate_;
  std::vector<Group> groups_;
  SamplerStatistics statistics_;
};

}  // namespace idleburn
