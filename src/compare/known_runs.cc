#include "compare/known_runs.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "compare/ledger_entry.h"
#include "history/runs.h"
#include "history/users_history.h"

namespace idleburn {
namespace {

// Runs that agree in all of it do the same.
auto JobOf(const HistoryRun& run) {
  return std::tie(run.project, run.command, run.figures.gpu_models, run.figures.gpus, run.figures.work_unit);
}

std::optional<double> LogRatioOf(const HistoryRun& run) {
  const RunFigures& figures = run.figures;
  if (!figures.window_ns || *figures.window_ns <= 0 || !figures.work || *figures.work <= 0) return std::nullopt;
  return std::log(static_cast<double>(*figures.window_ns) / *figures.work);
}

std::optional<Instant> StartOf(const std::vector<ComparedInput>& inputs) {
  std::optional<Instant> first;
  for (const ComparedInput& input : inputs) {
    for (const WorkTable::Block& block : input.blocks) {
      const std::optional<Instant>& start = block.run.run.start;
      if (start && (!first || *start < *first)) first = start;
    }
  }
  return first;
}

}  // namespace

std::optional<KnownRuns> KnownRunsOf(const ComparedSides& sides, const Settings& settings, Instant now) {
  const Result<std::optional<SqliteDatabase>> history = OpenToRead(HistoryFile(settings), now);
  RunFilter before_the_change;
  before_the_change.until = StartOf(sides.after);
  if (!history || !*history || !before_the_change.until) return std::nullopt;
  const Result<std::vector<HistoryRun>> runs = ListRuns(**history, before_the_change);
  if (!runs) return std::nullopt;
  std::vector<const HistoryRun*> baseline;
  KnownRuns known;
  for (const ComparedInput& input : sides.before) {
    const Result<std::string> path = FileOrKeptRun(input.name, settings, now);
    const std::string recording = path ? FullPath(*path) : std::string();
    const auto run = std::find_if(runs->begin(), runs->end(),
                                  [&](const HistoryRun& r) { return !recording.empty() && r.recording == recording; });
    const std::optional<double> log = run == runs->end() ? std::nullopt : LogRatioOf(*run);
    if (!log || (!baseline.empty() && JobOf(*run) != JobOf(*baseline.front()))) return std::nullopt;
    baseline.push_back(&*run);
    known.baseline.push_back(*log);
  }
  if (baseline.empty()) return std::nullopt;
  for (const HistoryRun& run : *runs) {
    const bool other = std::find(baseline.begin(), baseline.end(), &run) == baseline.end() && run.exit == "exit 0" &&
                       JobOf(run) == JobOf(*baseline.front());
    const std::optional<double> log = other ? LogRatioOf(run) : std::nullopt;
    if (log) known.others.push_back(*log);
  }
  return known;
}

}  // namespace idleburn
