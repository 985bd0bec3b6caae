#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "measure/host_lane.h"
#include "measure/live_gpus.h"
#include "measure/sampler.h"
#include "run/work_lane.h"

namespace idleburn {

struct LiveSessionSpec {
  LiveGpuOptions gpus;
  std::optional<HostWorkload> workload;  // besides the machine
  VariableLookup environment;            // of a workload: which GPUs it hides is told; null: all are meant
  // What a workload says of its work; both may be null. Shared, as is what `workload` holds: on a machine that is busy
  // enough a reading goes on when the session is over and everybody else has left.
  std::shared_ptr<MarkerFile> markers;
  std::shared_ptr<ProgressWatcher> lines;
};

// Measures this machine's GPUs, the host and a workload, and pushes all of it into one sink.
class LiveSession {
 public:
  // The time line of the session starts here. `devices` and `sink` outlive Stop.
  LiveSession(DeviceTable& devices, LiveSink& sink);
  // Starts to sample the host, opens the GPUs, which may take the driver seconds, and samples them too. A machine
  // without a usable GPU is sampled all the same. When asked to stop, a driver that hangs is left alone. Once. Throws
  // nothing: see Try.
  void Start(const LiveSessionSpec& spec, const std::stop_token& stop = {});
  // Returns when the last sample was pushed, and then how well all was measured. Not before Start has returned.
  void Stop();

  // Pushes what happened now, before Start as well as while it starts and samples. By any thread.
  void Tell(NoteKind kind, const std::string& text) { sink_.OnNote({Now(), kind, text}); }
  void Tell(const RunFact& fact) { sink_.OnFact(fact); }
  void Fact(const std::string& key, const std::string& value) { Tell({key, value}); }

  // Does a part of the measuring. What it throws (no memory, no thread) goes no further: it is told as the fact
  // kMeasuringFailedFact, and the workload's exit code stays what it is.
  void Try(const std::function<void()>& part);

  [[nodiscard]] Instant Now() const { return line_.At(clock_->Monotonic()); }
  // Why there is no GPU to measure, and what to do; empty if there is one. After Start.
  [[nodiscard]] const std::string& why_no_gpu() const { return why_no_gpu_; }
  // Whether NVIDIA's GPUs are among those measured, and why not. After Start.
  [[nodiscard]] const NvidiaState& nvidia() const { return nvidia_; }
  // After Stop, of a session that was started.
  [[nodiscard]] const SamplerStatistics& statistics() const { return sampler_->statistics(); }

 private:
  void Open(const LiveSessionSpec& spec, const std::stop_token& stop);

  DeviceTable& devices_;
  SinkGate sink_;
  std::shared_ptr<RunClock> clock_;
  TimeLine line_;
  std::string why_no_gpu_;
  NvidiaState nvidia_;
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace idleburn
