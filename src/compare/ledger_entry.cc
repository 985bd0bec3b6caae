#include "compare/ledger_entry.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "history/runs.h"
#include "history/users_history.h"
#include "terminal/output.h"

// Connects a comparison with the user's history: names of runs, entries of the ledger, and other runs of the same job.
// All of it is optional. A history that is missing, locked or damaged must change no verdict.

namespace idleburn {

namespace {

constexpr const char* kTool = "idleburn " IDLEBURN_VERSION;
constexpr std::string_view kHistoryPrefix = "history:";

// The members that entries of claims and of comparisons share.
LedgerRow EntryOf(const Claim& claim, const char* kind, Instant now) {
  LedgerRow row;
  row.written = now;
  row.tool = kTool;
  row.kind = kind;
  row.claim = claim.sha256;
  row.boundary = claim.boundary;
  row.unit = std::string(kWorkUnitNames[static_cast<std::size_t>(claim.unit)]);
  row.measure = claim.measure;
  row.predicted = claim.predicted;
  return row;
}

// The most that the measure of an entry could save, as the audits of its runs before the change said: the mean over
// those audits. Absent if no kept audit says so.
Result<std::optional<double>> AuditedBound(const SqliteDatabase& history, const LedgerRow& entry) {
  const std::vector<HistoryRun> runs = TRY(ListRuns(history));
  double sum = 0;
  int count = 0;
  for (const LedgerInput& input : entry.inputs) {
    if (input.side == "after") continue;
    const std::string path = FullPath(input.name);
    const auto run =
        std::find_if(runs.begin(), runs.end(), [&path](const HistoryRun& r) { return r.recording == path; });
    if (run == runs.end()) continue;
    for (const KeptAdvice& advice : run->figures.advice) {
      if (advice.id != entry.measure || !advice.high) continue;
      sum += *advice.high;
      ++count;
    }
  }
  return count == 0 ? std::optional<double>() : std::optional(sum / count);
}

// The bound of an entry. That of its claim comes first, because it was fixed before the change.
Result<std::optional<double>> BoundOf(const SqliteDatabase& history, const LedgerRow& entry) {
  const std::vector<LedgerRow> rows = TRY(ReadLedger(history));
  for (const LedgerRow& row : rows) {
    if (row.kind == "claimed" && row.claim == entry.claim && row.bound) return row.bound;
  }
  Result<std::optional<double>> audited = AuditedBound(history, entry);
  if (!audited || *audited || !entry.predicted) return audited;
  return std::optional(std::min(1.0, *entry.predicted / RecoveredShares::kPriorMean));
}

// Whether a name has the form of an id: at least four hexadecimal digits, or "last".
bool LooksLikeAnId(const std::string& name) {
  return name == "last" || (name.size() >= 4 && std::all_of(name.begin(), name.end(),
                                                            [](unsigned char c) { return std::isxdigit(c) != 0; }));
}

}  // namespace

LedgerRow ClaimEntry(const Claim& claim, Instant now) {
  LedgerRow row = EntryOf(claim, "claimed", now);
  for (const Claim::BaselineRun& run : claim.baseline) row.inputs.push_back({"baseline", run.name, run.sha256});
  return row;
}

LedgerRow ComparisonEntry(const ComparisonReport& report, Instant now) {
  LedgerRow row = EntryOf(report.claim, "compared", now);
  const SavingVerdict& verdict = report.verdict;
  row.verdict = std::string(VerdictName(verdict.verdict));
  row.retrospective = verdict.retrospective ? 1 : 0;
  row.fraction = verdict.fraction;
  if (verdict.saving) {
    row.low = verdict.saving->low;
    row.high = verdict.saving->high;
  }
  if (verdict.avoided_gpu_seconds) row.avoided_gpu_seconds = verdict.avoided_gpu_seconds->fraction;
  if (report.money) {
    row.currency = report.money->currency;
    if (report.money->cash) row.cashable_nano = report.money->cash->nano();
    row.freed_gpu_hours = report.money->freed_gpu_hours;
  }
  for (const ComparisonReport::Input& input : report.inputs) {
    row.inputs.push_back({input.after ? "after" : "before", input.name, input.sha256});
  }
  return row;
}

void KeepInLedger(LedgerRow entry, const Settings& settings, Instant now) {
  // A name such as "last" means another run tomorrow, so the file is kept.
  for (LedgerInput& input : entry.inputs) {
    if (const Result<std::string> path = FileOrKeptRun(input.name, settings, now)) input.name = FullPath(*path);
  }
  const auto keep = [&]() -> Result<void> {
    SqliteDatabase history = TRY(OpenToKeep(HistoryFile(settings), now));
    entry.bound = TRY(BoundOf(history, entry));
    return AppendToLedger(history, entry);
  };
  // The verdict is printed anyway, so a ledger that cannot be written is no error.
  if (const Result<void> kept = keep(); !kept) Say(kept.error().message + "; this entry is not in the ledger");
}

Result<std::string> FileOrKeptRun(const std::string& name, const Settings& settings, Instant now) {
  // "history:" names a run beyond doubt. Anything else is a file if there is one of that name.
  const bool said = name.starts_with(kHistoryPrefix);
  std::error_code ignored;
  if (!said && (!LooksLikeAnId(name) || std::filesystem::exists(name, ignored))) return name;
  const std::string id = said ? name.substr(kHistoryPrefix.size()) : name;
  const std::string file = HistoryFile(settings);
  const std::optional<SqliteDatabase> history = TRY(OpenToRead(file, now));
  if (!history) return said ? Result<std::string>(Fail(file + ": no run is kept yet")) : Result<std::string>(name);
  const HistoryRun run = TRY(FindRun(*history, id, file));
  if (run.recording.empty()) return Fail(file + ": run " + run.id.substr(0, 8) + " has no recording");
  return run.recording;
}

namespace {

// Runs that agree in all of these do the same job. GPUs and unit belong to it: runs on other GPUs or in another unit
// have other ratios, whatever was changed.
auto JobOf(const HistoryRun& run) {
  return std::tie(run.project, run.command, run.figures.gpu_models, run.figures.gpus, run.figures.work_unit);
}

// ln(GPU-nanoseconds / work). Absent without time or work. Only differences of these are used, so the unit of time does
// not matter.
std::optional<double> LogRatioOf(const HistoryRun& run) {
  const RunFigures& figures = run.figures;
  if (!figures.window_ns || *figures.window_ns <= 0 || !figures.work || *figures.work <= 0) return std::nullopt;
  return std::log(static_cast<double>(*figures.window_ns) / *figures.work);
}

// The start of the first run that has a date.
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
  // Errors give no answer instead of a failure: a verdict is also given without a history.
  const Result<std::optional<SqliteDatabase>> history = OpenToRead(HistoryFile(settings), now);
  RunFilter before_the_change;
  // Runs after the change would mix the effect with the choice.
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
  // Every run of the baseline was found. Now the others of the same job.
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
