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

// Serves lanes at regular ticks, on threads that may hang, and reports how well that worked. One Sampler serves a
// run. It has one thread for the host and one for the GPUs, because a driver call may never return.

// Lets several threads push into one sink, one at a time. After Close it drops everything. So a thread that was
// abandoned in a driver call cannot touch a sink that is gone, whenever its call returns.
class SinkGate : public LiveSink {
 public:
  // Keeps a reference: `out` must live until Close.
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
  void OnPorts(std::span<const PortTraffic> ports) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnPorts(ports);
  }
  // Runs `change` while no other thread is in the sink, because sinks read the table of devices during their calls.
  // After Close it does nothing.
  void ChangeDevices(const std::function<void()>& change) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->ChangeDevices(change);
  }
  // Returns when no call is in the sink. No later call reaches it.
  void Close() {
    const std::lock_guard lock(mutex_);
    out_ = nullptr;
  }

 private:
  std::mutex mutex_;
  LiveSink* out_;
};

// Absolute ticks on the monotonic clock: start + n x period. A late tick delays no other. If the work of a tick lasts
// beyond the times of the next, those are missed. They are counted and not repeated: a burst of readings in quick
// succession would say nothing about the time that was missed.
//
// Example: ticks at 0, 100, 200, ... ms. The tick at 100 ms ends at 330 ms. Two are missed, and the next is at 400
// ms.
class Ticks {
 public:
  // `period` is at least 1 ns.
  Ticks(Nanos start, Nanos period) : period_(period), next_(start) {}

  [[nodiscard]] Nanos next() const { return next_; }
  [[nodiscard]] std::int64_t missed() const { return missed_; }
  // The tick at next() was served, and its work ended at `now`. Moves on to the first tick after `now`, at least by
  // one.
  void Served(Nanos now);

 private:
  Nanos period_;
  Nanos next_;
  std::int64_t missed_ = 0;
};

// The work of one sampler thread, tick by tick, and what its watchdog must know. It has no thread of its own, so a test
// can drive it.
class TickLoop {
 public:
  // The first tick is now. `out` must outlive the loop.
  TickLoop(Nanos period, std::shared_ptr<RunClock> clock, const TimeLine& line,
           std::vector<std::unique_ptr<Lane>> lanes, LiveSink& out);

  // Waits for the next tick and serves it. When asked to stop, it returns early and serves nothing.
  void Step(const std::stop_token& stop);
  // Finishes the lanes after the last step, and pushes the last notes.
  void Finish();

  // Checks whether a lane's tick takes longer than `hang_after`. It notes that once for each hang, and marks the
  // lane's values as stale each time. Any thread may call it, but only one at a time.
  void CheckHang(Nanos hang_after);
  // Abandons all lanes, because the thread of this loop is given up. Any thread may call it.
  void Abandon();

  // Statistics. Not while a step runs.
  [[nodiscard]] std::int64_t served() const { return late_.count(); }
  [[nodiscard]] std::int64_t missed() const { return ticks_.missed(); }
  [[nodiscard]] const Spread& late() const { return late_; }
  [[nodiscard]] const Spread& work() const { return work_; }
  [[nodiscard]] std::vector<CallTimes> Calls() const;

 private:
  // Notes how many ticks were missed since the last note. On a busy machine that could be every tick, so notes are
  // rare, except for the `last` one.
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
  std::int64_t hang_noted_ = -1;             // busy_since_ of the last noted hang; only the watchdog uses it
};

// How a sampler ticks, and how long it waits.
struct SamplerOptions {
  Nanos period{100'000'000};
  Nanos hang_after{5 * kNanosPerSecond};  // a tick that takes longer hangs
  Nanos patience{500'000'000};            // how long Stop waits for running ticks
};

// How well all threads sampled together. Abandoned threads do not count, because they may still change their figures.
struct SamplerStatistics {
  std::int64_t ticks = 0;  // served
  std::int64_t missed = 0;
  Spread late;  // how late ticks began
  Spread work;  // how long ticks took
  std::vector<CallTimes> calls;
  bool abandoned = false;             // a call never returned, and its thread was abandoned
  std::vector<std::string> failures;  // why threads ended or did not start; what they read is unobserved
};

// Serves lanes at absolute ticks. Each group of lanes that may hang has a thread, and other threads watch them. A
// tick that hangs does no harm: its values are marked as stale, other lanes continue, and Stop abandons the thread.
//
// A timeout within the call was no choice: a thread that is inside the kernel's driver cannot be interrupted.
class Sampler {
 public:
  // `sink` must live until Stop. One thread at a time calls it, and none after Stop.
  Sampler(const SamplerOptions& options, std::shared_ptr<RunClock> clock, const TimeLine& line, LiveSink& sink);
  ~Sampler();  // stops
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Begins to serve these lanes on a thread of their own. Stop waits for it up to `patience`, or else options.patience.
  // If no thread can be created, the statistics have a failure and nothing is read.
  void Serve(std::vector<std::unique_ptr<Lane>> lanes, std::optional<Nanos> patience = {});
  // Returns after the last sample was pushed, or when the patience is over.
  void Stop();

  // The sink, for other threads that push at the same time, such as the one that reads the output of a command. Not
  // after Stop.
  LiveSink& sink() { return *gate_; }
  // The statistics, after Stop.
  [[nodiscard]] const SamplerStatistics& statistics() const { return statistics_; }

 private:
  struct Served;
  struct Group {
    std::shared_ptr<Served> served;  // shared with the thread, which may be abandoned
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

// How well a run was sampled and what that cost, as facts for its recording (docs/recording.md). Times are
// nanoseconds.
//   sampler.ticks, .missed       ticks that were served, and ticks that were missed
//   sampler.late_p99, .late_max  how late ticks began
//   sampler.work_p99, .work_max  how long ticks took
//   sampler.abandoned            "yes" if a call never returned
//   sampler.failed               why a part of the measuring ended or did not start
//   sampler.calls.FUNCTION       calls, p50, p99 and max of a driver function, separated by spaces
std::vector<RunFact> SamplerFacts(const SamplerStatistics& statistics);

}  // namespace idleburn
