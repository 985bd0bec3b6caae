#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "measure/host_lane.h"
#include "measure/live_gpus.h"
#include "measure/sampler.h"
#include "run/markers.h"

namespace idleburn {
// What a live session measures. `run` starts its workload; that of `record --pid` runs already.
struct LiveSessionSpec {
  LiveGpuOptions gpus;
  std::optional<HostWorkload> workload;  // measured besides the machine
  VariableLookup environment;            // the workload's environment, which may hide GPUs; null: all GPUs count
  // How the workload reports its work. Both may be null. They are shared, like the members of `workload`: on a very
  // busy machine a reading may outlast the session.
  std::shared_ptr<MarkerFile> markers;
  std::shared_ptr<ProgressWatcher> lines;
};

// Measures this machine's GPUs, the host and a workload, and pushes everything into one sink. It joins the parts of
// measure/ for the commands that watch live: it opens the GPUs, chooses which of them count, starts the sampler and
// tells the facts.
//
// Nothing that fails here may end the workload or change its exit code. So every part runs within Try, and what it
// could not measure is unobserved time.
class LiveSession {
 public:
  // Starts the time line of the session. `devices` and `sink` must outlive Stop.
  LiveSession(DeviceTable& devices, LiveSink& sink);
  // Starts to sample the host, then opens and samples the GPUs, which may take a driver seconds. It works without a GPU
  // too. When asked to stop, it leaves a hanging driver alone. Call it once. It throws nothing: see Try.
  void Start(const LiveSessionSpec& spec, const std::stop_token& stop = {});
  // Returns after it pushed the last sample and the facts about the sampler. Call it after Start returned. Afterwards
  // nothing reaches the sink from the session's threads.
  void Stop();

  // Pushes a note about an event now. Any thread may call it, also before and during Start.
  void Tell(NoteKind kind, const std::string& text) { sink_.OnNote({Now(), kind, text}); }
  // Pushes a fact.
  void Tell(const RunFact& fact) { sink_.OnFact(fact); }
  void Fact(const std::string& key, const std::string& value) { Tell({key, value}); }

  // Runs a part of the measuring and catches what it throws (no memory, no thread). The failure becomes the fact
  // kMeasuringFailedFact. Measuring must never change the workload's exit code.
  void Try(const std::function<void()>& part);

  // The time on the session's time line. Notes and marks carry it.
  [[nodiscard]] Instant Now() const { return line_.At(clock_->Monotonic()); }
  // Why there is no GPU to measure, and what to do. Empty if there is one. After Start.
  [[nodiscard]] const std::string& why_no_gpu() const { return why_no_gpu_; }
  // Whether NVIDIA GPUs are measured, and if not, why. After Start.
  [[nodiscard]] const NvidiaState& nvidia() const { return nvidia_; }
  // How well the session sampled. After Start and Stop.
  [[nodiscard]] const SamplerStatistics& statistics() const { return sampler_->statistics(); }

 private:
  // The part of Start that may throw.
  void Open(const LiveSessionSpec& spec, const std::stop_token& stop);

  DeviceTable& devices_;
  SinkGate sink_;
  std::shared_ptr<RunClock> clock_;
  TimeLine line_;
  std::string why_no_gpu_;
  NvidiaState nvidia_;
  std::unique_ptr<Sampler> sampler_;
};

// Runs a shell command for each alert, one after another (`--on-alert`, docs/watch.md). The environment holds the
// alert: IDLEBURN_ALERT is the sentence, IDLEBURN_ALERT_KIND is "warn", "checkpoint" or "stop".
//
// A separate process runs the commands. It starts before anything else, so its children do not count as the workload
// and signals of the terminal do not reach them. A command that hangs delays later alerts, and never the workload.
class AlertCommand {
 public:
  // Starts the process. Call it while this process has one thread and blocks no signal. Fails without a free socket
  // or process.
  static Result<std::unique_ptr<AlertCommand>> Start(const std::string& command);
  // Waits until the commands ended, for at most 30 s, the limit of one command. Then they go on alone.
  ~AlertCommand();
  AlertCommand(const AlertCommand&) = delete;
  AlertCommand& operator=(const AlertCommand&) = delete;

  // Passes an alert on and never blocks. The text is cut at 4096 bytes with the kind. False if the process is gone or
  // far behind.
  bool Tell(const std::string& kind, const std::string& text);

 private:
  AlertCommand(pid_t pid, int out) : pid_(pid), out_(out) {}

  pid_t pid_;
  int out_;  // a socket of messages to it: each is a kind, a 0 and a text
};

}  // namespace idleburn
