#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "measure/lane.h"
#include "os/run_clock.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// Lets several threads push into one sink, one at a time, until it is closed; what comes later is dropped.
class SinkGate : public LiveSink {
 public:
  // `out` lives until Close.
  explicit SinkGate(LiveSink& out) : out_(&out) {}

  void OnSamples(std::span<const Sample> samples) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnSamples(samples);
  }
  void OnHeld(std::span<const Sample> samples) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnHeld(samples);
  }
  void OnHost(std::span<const HostSample> samples) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnHost(samples);
  }
  void OnWork(const WorkMark& mark) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnWork(mark);
  }
  void OnNote(const Note& note) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnNote(note);
  }
  void OnFact(const RunFact& fact) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnFact(fact);
  }
  void OnHolders(const GpuHolders& holders) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnHolders(holders);
  }
  void ChangeDevices(const std::function<void()>& change) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->ChangeDevices(change);
  }
  // After this no call reaches the sink, nor is one under way.
  void Close() {
    const std::lock_guard lock(mutex_);
    out_ = nullptr;
  }

 private:
  std::mutex mutex_;
  LiveSink* out_;
};

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

// The work of a sampler's thread, tick by tick, and what its watchdog needs to know of it. Has no thread of its own.
class TickLoop {
 public:
  TickLoop(Nanos period, std::shared_ptr<RunClock> clock, const TimeLine& line,
           std::vector<std::unique_ptr<Lane>> lanes, LiveSink& out);

  // Waits for the next tick and serves it; returns early, without serving it, when asked to stop.
  void Step(const std::stop_token& stop);
  // After the last step: what the lanes still hold, and the last notes.
  void Finish();

  // Any thread. Notes a lane whose tick has taken `hang_after`, once, and says each time that its values are stale.
  void CheckHang(Nanos hang_after);
  // Any thread; for a loop whose thread is given up.
  void Abandon();

  // Not while a step is under way.
  [[nodiscard]] std::int64_t served() const { return late_.count(); }
  [[nodiscard]] std::int64_t missed() const { return ticks_.missed(); }
  [[nodiscard]] const Spread& late() const { return late_; }
  [[nodiscard]] const Spread& work() const { return work_; }
  [[nodiscard]] std::vector<CallTimes> Calls() const;

 private:
  void NoteMissed(Instant now, bool last);
  static constexpr int kNobody = -1;

  std::shared_ptr<RunClock> clock_;
  TimeLine line_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  LiveSink& out_;
  Ticks ticks_;
  Nanos period_;
  Spread late_;
  Spread work_;
  std::int64_t missed_noted_ = 0;
  Instant missed_noted_at_ = Instant::FromNanos(INT64_MIN);

  std::atomic<int> busy_lane_{kNobody};
  std::atomic<std::int64_t> busy_since_{0};  // monotonic
  std::int64_t hang_noted_ = -1;             // busy_since_ of the hang noted last; the watchdog's own
};

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

// How well a run was measured and what that took, as facts for its recording. Times are nanoseconds.
//   sampler.ticks, .missed       ticks that were served, and those that came too late to be
//   sampler.late_p99, .late_max  how long after its time a tick began
//   sampler.work_p99, .work_max  how long serving it took
//   sampler.abandoned            "yes" if a call never returned
//   sampler.failed               what ended a part of the measuring, or kept it from beginning
//   sampler.calls.FUNCTION       of a driver's function: calls, p50, p99, max, with spaces between
std::vector<RunFact> SamplerFacts(const SamplerStatistics& statistics);

}  // namespace idleburn
