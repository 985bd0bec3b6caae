// What it costs to measure: sample_gpus LIBRARY HZ SECONDS PART. One line of JSON: share of a core, memory, lateness.
//   PART: wake      one thread that sleeps until each tick and does nothing else: the cheapest there is here
//         nothing   bare ticks of the sampler, with its watchdog
//         gpus      the GPUs of LIBRARY
//         all       and the host, and a workload of 16 processes
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "measure/host_lane.h"
#include "measure/live_gpus.h"
#include "measure/sampler.h"

namespace idleburn {
namespace {

class Counting : public LiveSink {
 public:
  void OnSamples(std::span<const Sample> samples) override { count += static_cast<std::int64_t>(samples.size()); }
  void OnHost(std::span<const HostSample> samples) override {
    host_count += static_cast<std::int64_t>(samples.size());
    for (const HostSample& sample : samples) {
      const bool told = sample.scope == HostScope::kWorkload && sample.Has(HostSignal::kProcesses);
      if (told) processes = sample.Get(HostSignal::kProcesses);
    }
  }
  void OnWork(const WorkMark&) override {}
  void OnNote(const Note& note) override {
    if (note.kind != NoteKind::kSettled && note.kind != NoteKind::kMissedTicks) {
      std::fprintf(stderr, "%s\n", note.text.c_str());
    }
  }
  void OnFact(const RunFact&) override {}
  std::int64_t count = 0;
  std::int64_t host_count = 0;
  std::int64_t processes = 0;
};

class EmptyLane : public Lane {
 public:
  void Tick(Instant, LiveSink&) override {}
};

// One process and 15 children of it; each wakes ten times a second, as something that waits does.
class Workload {
 public:
  Workload() : root_(fork()) {
    if (root_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 15; ++i) {
      if (fork() != 0) continue;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      break;
    }
    while (true) usleep(100'000);
  }
  ~Workload() {
    kill(root_, SIGKILL);
    waitpid(root_, nullptr, 0);
  }
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  [[nodiscard]] pid_t root() const { return root_; }

 private:
  pid_t root_;
};

double CpuSeconds(const rusage& usage) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The most memory this program held; getrusage would count what started it too.
double PeakMib() {
  std::ifstream status("/proc/self/status");
  double kib = 0;
  for (std::string word; status >> word && word != "VmHWM:";) continue;
  status >> kib;
  return kib / 1024;
}

double Milliseconds(Nanos span) { return static_cast<double>(span.count()) / 1e6; }

void Print(const Sampler& sampler, int threads, const Counting& sink, const rusage& before, double wall) {
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  const double cpu = CpuSeconds(after) - CpuSeconds(before);
  const SamplerStatistics& s = sampler.statistics();
  std::printf(
      "{\"ticks\": %lld, \"missed\": %lld, \"samples\": %lld, \"host_samples\": %lld, \"processes\": %lld, "
      "\"core_percent\": %.4f, \"us_per_tick\": %.1f, \"rss_mib\": %.1f, \"late_p50_ms\": %.3f, \"late_p99_ms\": %.3f, "
      "\"late_max_ms\": %.3f}\n",
      static_cast<long long>(s.ticks), static_cast<long long>(s.missed), static_cast<long long>(sink.count),
      static_cast<long long>(sink.host_count), static_cast<long long>(sink.processes), 100 * cpu / wall,
      1e6 * cpu * threads / static_cast<double>(s.ticks), PeakMib(), Milliseconds(s.late.Quantile(0.5)),
      Milliseconds(s.late.Quantile(0.99)), Milliseconds(s.late.max()));
}

int Wake(Nanos period, std::int64_t ticks) {
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  const std::shared_ptr<RunClock> clock = SystemClock();
  const Nanos start = clock->Monotonic();
  for (std::int64_t tick = 1; tick <= ticks; ++tick) {
    const std::int64_t at = (start + tick * period).count();
    const timespec until = {at / kNanosPerSecond, at % kNanosPerSecond};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
  }
  const double wall = static_cast<double>((clock->Monotonic() - start).count()) / 1e9;
  getrusage(RUSAGE_SELF, &after);
  const double cpu = CpuSeconds(after) - CpuSeconds(before);
  std::printf("{\"ticks\": %lld, \"core_percent\": %.4f, \"us_per_tick\": %.1f, \"rss_mib\": %.1f}\n",
              static_cast<long long>(ticks), 100 * cpu / wall, 1e6 * cpu / static_cast<double>(ticks), PeakMib());
  return 0;
}

// One lane on a thread of its own, as a live session has them.
void ServeAlone(Sampler& sampler, std::unique_ptr<Lane> lane) {
  std::vector<std::unique_ptr<Lane>> lanes;
  lanes.push_back(std::move(lane));
  sampler.Serve(std::move(lanes));
}

int Main(int count, char** words) {
  constexpr std::array<std::string_view, 4> kParts = {"wake", "nothing", "gpus", "all"};
  const std::string_view part = count == 5 ? words[4] : "";
  if (std::find(kParts.begin(), kParts.end(), part) == kParts.end()) {
    return std::fputs("usage: sample_gpus LIBRARY HZ SECONDS wake|nothing|gpus|all\n", stderr), 2;
  }
  const double seconds = std::strtod(words[3], nullptr);
  LiveGpuOptions gpu_options;
  gpu_options.nvml_library = words[1];
  gpu_options.period = Nanos(static_cast<std::int64_t>(1e9 / std::strtod(words[2], nullptr)));
  if (part == "wake")
    return Wake(gpu_options.period, static_cast<std::int64_t>(seconds * std::strtod(words[2], nullptr)));
  std::optional<Workload> workload;
  if (part == "all") workload.emplace();
  const std::shared_ptr<RunClock> clock = SystemClock();
  const TimeLine line(clock->Read());
  DeviceTable devices;
  Counting sink;
  SamplerOptions options;
  options.period = gpu_options.period;
  Sampler sampler(options, clock, line, sink);
  LiveGpus gpus;
  if (part != "nothing") gpus = LiveGpus::Open(gpu_options, devices, sampler.sink(), clock, line);
  if (!gpus.why_not.empty()) return std::fprintf(stderr, "%s\n", gpus.why_not.c_str()), 1;
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const Nanos start = clock->Monotonic();
  if (part == "nothing") ServeAlone(sampler, std::make_unique<EmptyLane>());
  if (workload) {
    HostWorkload watched;
    watched.pid = workload->root();
    ServeAlone(sampler, std::make_unique<HostLane>(HostLaneSpec{"", watched}));
  }
  if (!gpus.lanes.empty()) sampler.Serve(std::move(gpus.lanes));
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  sampler.Stop();
  Print(sampler, part == "all" ? 2 : 1, sink, before, static_cast<double>((clock->Monotonic() - start).count()) / 1e9);
  return 0;
}

}  // namespace
}  // namespace idleburn

int main(int count, char** words) { return idleburn::Main(count, words); }
