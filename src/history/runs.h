#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "history/columns.h"
#include "history/run.h"
#include "os/sqlite.h"

namespace idleburn {

// The columns of the tables of runs and forecasts, by their names in the file. The exports use them too.
std::span<const KeptColumn<HistoryRun>> RunColumns();
std::span<const KeptColumn<RunFigures>> FigureColumns();
std::span<const KeptColumn<KeptForecast>> ForecastColumns();

// Writes a run in place of what was kept under its id, all or nothing. Tags that were added meanwhile stay, and so does
// a forecast. What looks like a secret in project and labels is replaced (docs/run-ends.md, "Secrets").
Result<void> PutRun(SqliteDatabase& history, const HistoryRun& run);

// A bound on cost: ">50".
struct CostBound {
  enum class Relation : std::uint8_t { kMore, kAtLeast, kLess, kAtMost };
  Relation relation = Relation::kMore;
  std::int64_t nano = 0;  // in the currency of each run
};
// Reads ">50", ">=50", "<50" or "<=50". Any other text is a usage error.
Result<CostBound> ParseCostBound(std::string_view text);

// Which runs are wanted. A member that is not set excludes none.
struct RunFilter {
  std::string project;
  std::string experiment;                                 // the value of any experiment id, or of a tag
  std::vector<std::pair<std::string, std::string>> tags;  // the run must have all of them
  std::optional<CostBound> cost;                          // excludes runs without a cost
  std::optional<Instant> since, until;                    // bounds on the start: since <= start < until
};

// The matching runs, newest first.
Result<std::vector<HistoryRun>> ListRuns(const SqliteDatabase& history, const RunFilter& filter = {});
// The number of kept runs.
Result<std::int64_t> CountRuns(const SqliteDatabase& history);
// The run whose id starts with `id`, or the newest run for "last". Fails if there is none or several, and names them.
// `name` is the file, for the error.
Result<HistoryRun> FindRun(const SqliteDatabase& history, const std::string& id, const std::string& name);

// Returns, for each of `runs`, the id of the run that already counts its GPU time; empty if there is none. A sum over
// runs must leave out runs that have one.
//
// That is the outermost run around it (HistoryRun::parent) on the same host that measured GPUs for at least as long.
// Its command started this run, so its figures include this one's. A run that measured more than every run around it,
// for example on another host, has none. `all` must hold the runs around.
std::vector<std::string> CountedWithin(std::span<const HistoryRun> runs, std::span<const HistoryRun> all);

// Sets a tag, in place of the value it had.
Result<void> SetTag(SqliteDatabase& history, const std::string& run, const std::string& key, const std::string& value);
// Returns false if the run had no such tag.
Result<bool> RemoveTag(SqliteDatabase& history, const std::string& run, const std::string& key);
// Removes a run with all that belongs to it, except entries of the ledger.
Result<void> RemoveRun(SqliteDatabase& history, const std::string& run);

}  // namespace idleburn
