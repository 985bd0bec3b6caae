// Runs a workload and nothing else, for tests of how transparent that is:
//   workload_probe plain|watched|measured|late END_FILE COMMAND...
// END_FILE gets how the workload ended, with "watched" how many bytes were seen on each stream, the work done, and
// with "measured" what the host lane saw of it at 10 Hz, while END_FILE.ticks grows by a byte with each look. "late"
// says that it is prepared, and starts once END_FILE is there.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "measure/host_lane.h"
#include "run/markers.h"
#include "run/workload.h"

namespace idleburn {
namespace {

class CountingWatcher final : public OutputWatcher {
 public:
  void OnOutput(int stream, std::string_view bytes) override {
    seen_[static_cast<std::size_t>(stream - 1)] += bytes.size();
    progress_.OnOutput(stream, bytes);
  }
  [[nodiscard]] WorkCount done() const { return progress_.done(); }
  [[nodiscard]] std::size_t seen(int stream) const { return seen_[static_cast<std::size_t>(stream - 1)]; }

 private:
  std::array<std::size_t, 2> seen_ = {};
  ProgressWatcher progress_;
};

// The last value of every signal of the workload, and the most processes at once.
class LastValues final : public LiveSink {
 public:
  void OnSamples(std::span<const Sample> /*batch*/) override {}
  void OnHost(std::span<const HostSample> batch) override {
    for (const HostSample& sample : batch) {
      if (sample.scope != HostScope::kWorkload) continue;
      for (const HostSignalInfo& info : kHostSignals) {
        if (sample.Has(info.id)) last_[Index(info.id)] = sample.Get(info.id);
      }
      if (sample.Has(HostSignal::kProcesses)) most_ = std::max(most_, sample.Get(HostSignal::kProcesses));
    }
  }
  void OnWork(const WorkMark& /*mark*/) override {}
  void OnNote(const Note& /*note*/) override {}
  void OnFact(const RunFact& /*fact*/) override {}
  void Write(std::ofstream& out) const {
    for (const HostSignalInfo& info : kHostSignals) out << info.name << " " << last_[Index(info.id)] << "\n";
    out << "most_processes " << most_ << "\n";
  }

 private:
  std::array<std::int64_t, kHostSignalCount> last_ = {};
  std::int64_t most_ = 0;
};

// Runs the host lane beside the workload.
class Measuring {
 public:
  Measuring(const Workload& workload, std::shared_ptr<const ReapedUsage> reaped, const std::string& ticks_file) {
    HostWorkload watched;
    watched.pid = workload.pid();
    watched.adopter = getpid();
    watched.not_ours = workload.helpers();
    watched.run_id = "probe";
    watched.reaped = std::move(reaped);
    HostLaneSpec spec;
    spec.workload = watched;
    thread_ = std::thread([this, spec, ticks_file] {
      HostLane lane(spec);
      std::ofstream ticks(ticks_file);
      for (std::int64_t tick = 0; !stop_; ++tick) {
        lane.Tick(Instant::FromNanos(tick * 100'000'000), values_);
        ticks << '.' << std::flush;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      lane.Tick(Instant::FromNanos(std::int64_t{1} << 50), values_);
    });
  }
  const LastValues& End() {
    stop_ = true;
    thread_.join();
    return values_;
  }

 private:
  LastValues values_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

void Write(std::ofstream& out, std::string_view what, const WorkCount& done) {
  const auto number = [](const std::optional<std::int64_t>& n) { return n ? std::to_string(*n) : std::string("-"); };
  out << what << ": steps " << number(done[WorkUnit::kStep]) << " samples " << number(done[WorkUnit::kSample])
      << " tokens " << number(done[WorkUnit::kToken]) << " epochs " << number(done[WorkUnit::kEpoch]) << "\n";
}

int Run(std::string_view mode, const char* end_file, std::vector<std::string> command) {
  const bool watched = mode == "watched";
  CountingWatcher watcher;
  const auto reaped = std::make_shared<ReapedUsage>();
  WorkloadSpec spec;
  spec.command = std::move(command);
  Result<MarkerFile> markers = MarkerFile::Create();
  if (!markers) return 1;
  spec.environment = {{"IDLEBURN_RUN_ID", "probe"}, {"IDLEBURN_MARKERS", markers->path()}};
  spec.watcher = watched ? &watcher : nullptr;
  spec.reaped = reaped.get();
  const std::unique_ptr<Workload> workload = Workload::Prepare();
  if (mode == "late") std::fputs("prepared\n", stderr);
  while (mode == "late" && access(end_file, F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const auto started = workload->Start(spec);
  if (!started) {
    std::fprintf(stderr, "probe: %s\n", started.error().error.message.c_str());
    return started.error().exit_code;
  }
  std::optional<Measuring> measuring;
  if (mode == "measured") measuring.emplace(*workload, reaped, end_file + std::string(".ticks"));
  const WorkloadEnd end = workload->Wait();
  std::ofstream out(end_file);
  out << Describe(end) << "\n";
  if (!end.output_failure.empty()) out << end.output_failure << "\n";
  if (watched) out << watcher.seen(1) << " " << watcher.seen(2) << "\n";
  out << "cpu " << end.cpu_ns << " reaped " << reaped->total().cpu_ns << "\n";
  if (watched) Write(out, "lines", watcher.done());
  if (measuring) measuring->End().Write(out);
  markers->Poll();
  for (const auto& [rank, done] : markers->ranks()) Write(out, "rank " + std::to_string(rank), done);
  return end.exit_code;
}

}  // namespace
}  // namespace idleburn

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  return idleburn::Run(argv[1], argv[2], {argv + 3, argv + argc});
}
