// Runs a workload and nothing else, for tests of how transparent that is:
//   workload_probe plain|watched END_FILE COMMAND...
// END_FILE gets how the workload ended, with "watched" how many bytes were seen on each stream, and the work done.
#include <array>
#include <cstdio>
#include <fstream>

#include "run/work_lane.h"
#include "run/workload.h"

namespace idleburn {
namespace {

class CountingWatcher final : public OutputWatcher {
 public:
  void OnOutput(int stream, std::string_view bytes) override {
    seen_[static_cast<std::size_t>(stream - 1)] += bytes.size();
    progress_.OnOutput(stream, bytes);
  }
  [[nodiscard]] WorkDone done() const { return progress_.done(); }
  [[nodiscard]] std::size_t seen(int stream) const { return seen_[static_cast<std::size_t>(stream - 1)]; }

 private:
  std::array<std::size_t, 2> seen_ = {};
  ProgressWatcher progress_;
};

void Write(std::ofstream& out, std::string_view what, const WorkDone& done) {
  const auto number = [](const std::optional<std::int64_t>& n) { return n ? std::to_string(*n) : std::string("-"); };
  out << what << ": steps " << number(done.steps) << " samples " << number(done.samples) << " tokens "
      << number(done.tokens) << " epochs " << number(done.epochs) << "\n";
}

int Run(bool watched, const char* end_file, std::vector<std::string> command) {
  CountingWatcher watcher;
  ReapedUsage reaped;
  WorkloadSpec spec;
  spec.command = std::move(command);
  Result<MarkerFile> markers = MarkerFile::Create();
  if (!markers) return 1;
  spec.environment = {{"IDLEBURN_RUN_ID", "probe"}, {"IDLEBURN_MARKERS", markers->path()}};
  spec.watcher = watched ? &watcher : nullptr;
  spec.reaped = &reaped;
  const auto workload = Workload::Start(spec);
  if (!workload) {
    std::fprintf(stderr, "probe: %s\n", workload.error().error.message.c_str());
    return workload.error().exit_code;
  }
  const WorkloadEnd end = (*workload)->Wait();
  std::ofstream out(end_file);
  out << Describe(end) << "\n";
  if (!end.output_failure.empty()) out << end.output_failure << "\n";
  if (watched) out << watcher.seen(1) << " " << watcher.seen(2) << "\n";
  out << "cpu " << end.cpu_ns << " reaped " << reaped.total().cpu_ns << "\n";
  if (watched) Write(out, "lines", watcher.done());
  markers->Poll();
  for (const auto& [rank, done] : markers->ranks()) Write(out, "rank " + std::to_string(rank), done);
  return end.exit_code;
}

}  // namespace
}  // namespace idleburn

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  return idleburn::Run(std::string_view(argv[1]) == "watched", argv[2], {argv + 3, argv + argc});
}
