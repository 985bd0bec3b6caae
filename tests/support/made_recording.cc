#include "support/made_recording.h"

#include <gtest/gtest.h>

#include <cmath>

#include "telemetry/recording_writer.h"
#include "telemetry/run_facts.h"

namespace idleburn::testing {

std::string MadeRecording::WriteTo(const std::string& path) const {
  DeviceTable devices;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    DeviceKey key;
    key.uuid = uuid + std::to_string(gpu);
    key.index = gpu;
    key.name = gpu_name;
    devices.NameCounter(devices.Enter(key), Signal::kUtilization, "nvml.utilization.gpu");
  }
  RecordingOptions options;
  options.start = start;
  options.sync = false;
  const auto writer = RecordingWriter::Create(path, devices, options);
  EXPECT_TRUE(writer.has_value()) << writer.error().message;
  if (!writer) return path;
  const auto at = [&](double s) {
    const double shown = clock_back_at >= 0 && s >= clock_back_at ? s - 5 : s;
    return start + Nanos(static_cast<std::int64_t>(std::llround(shown * 1e9)));
  };
  for (const RunFact& fact : facts) (*writer)->OnFact(fact);
  (*writer)->OnFact(RunWindow::StartFact(start));
  std::int64_t steps = 0;
  for (int tick = 0; tick <= static_cast<int>(seconds * 10); ++tick) {
    const double s = tick / 10.0;
    if (s > silent_from && s < silent_to) continue;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      Sample sample;
      sample.time = at(s);
      sample.device = static_cast<DeviceId>(gpu);
      sample.Set(Signal::kUtilization, utilization * kPercent);
      if (memory_mib > 0) {
        sample.Set(Signal::kMemoryUsed, memory_mib << 20);
        sample.Set(Signal::kMemoryTotal, std::int64_t{80} << 30);
      }
      (*writer)->OnSamples({&sample, 1});
    }
    for (const auto& [scope, counters] : {std::pair(HostScope::kWorkload, &job), {HostScope::kMachine, &machine}}) {
      if (tick % 10 != 0 || counters->empty()) continue;
      HostSample sample;
      sample.time = at(s);
      sample.scope = scope;
      for (const auto& [signal, rise] : *counters) sample.Set(signal, rise * (tick / 10));
      (*writer)->OnHost({&sample, 1});
    }
    const double since = restarts_at >= 0 && s >= restarts_at ? restarts_at : 0;
    const auto done = static_cast<std::int64_t>(std::floor((s - since) / step_seconds + 1e-9));
    if (done == steps) continue;
    steps = done;
    WorkMark mark;
    mark.time = at(s);
    if (counts_steps) mark.done[WorkUnit::kStep] = done;
    if (samples_per_step > 0) mark.done[WorkUnit::kSample] = done * samples_per_step;
    if (mark.done[WorkUnit::kStep] || mark.done[WorkUnit::kSample]) (*writer)->OnWork(mark);
  }
  (*writer)->OnFact(RunWindow::EndFact(at(seconds)));
  if (!exit.empty()) (*writer)->OnFact({"exit", exit});
  EXPECT_TRUE((*writer)->Close().has_value());
  return path;
}

}  // namespace idleburn::testing
