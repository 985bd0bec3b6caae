// What it costs to sample GPUs: sample_gpus LIBRARY HZ SECONDS. One line of JSON: share of a core, memory, lateness.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "measure/live_gpus.h"
#include "measure/sampler.h"

namespace idleburn {
namespace {

class Counting : public LiveSink {
 public:
  void OnSamples(std::span<const Sample> samples) override { count += static_cast<std::int64_t>(samples.size()); }
  void OnHost(std::span<const HostSample>) override {}
  void OnWork(const WorkMark&) override {}
  void OnNote(const Note& note) override { std::fprintf(stderr, "%s\n", note.text.c_str()); }
  void OnFact(const RunFact&) override {}
  std::int64_t count = 0;
};

double CpuSeconds(const rusage& usage) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int Main(int count, char** words) {
  if (count != 4) return std::fputs("usage: sample_gpus LIBRARY HZ SECONDS\n", stderr), 2;
  const double seconds = std::strtod(words[3], nullptr);
  LiveGpuOptions gpu_options;
  gpu_options.nvml_library = words[1];
  gpu_options.period = Nanos(static_cast<std::int64_t>(1e9 / std::strtod(words[2], nullptr)));
  const std::shared_ptr<RunClock> clock = SystemClock();
  const TimeLine line(clock->Read());
  DeviceTable devices;
  Counting sink;
  LiveGpus gpus = LiveGpus::Open(gpu_options, devices, clock, line);
  if (gpus.lanes.empty()) return std::fprintf(stderr, "%s\n", gpus.why_not.c_str()), 1;
  SamplerOptions options;
  options.period = gpu_options.period;
  Sampler sampler(options, clock, line, std::move(gpus.lanes), sink);
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const Nanos start = clock->Monotonic();
  sampler.Start();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  sampler.Stop();
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  const double wall = static_cast<double>((clock->Monotonic() - start).count()) / 1e9;
  const double cpu = CpuSeconds(after) - CpuSeconds(before);
  const SamplerStatistics& s = sampler.statistics();
  std::printf(
      "{\"ticks\": %lld, \"missed\": %lld, \"samples\": %lld, \"core_percent\": %.4f, \"us_per_tick\": %.1f, "
      "\"rss_mib\": %.1f, \"late_p50_ms\": %.3f, \"late_p99_ms\": %.3f, \"late_max_ms\": %.3f}\n",
      static_cast<long long>(s.ticks), static_cast<long long>(s.missed), static_cast<long long>(sink.count),
      100 * cpu / wall, 1e6 * cpu / static_cast<double>(s.ticks), static_cast<double>(after.ru_maxrss) / 1024,
      static_cast<double>(s.late_p50.count()) / 1e6, static_cast<double>(s.late_p99.count()) / 1e6,
      static_cast<double>(s.late_max.count()) / 1e6);
  return 0;
}

}  // namespace
}  // namespace idleburn

int main(int count, char** words) { return idleburn::Main(count, words); }
