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

// The columns of a run that are texts and of its figures, by the names they have in the file.
std::span<const KeptColumn<HistoryRun>> RunColumns();
std::span<const KeptColumn<RunFigures>> FigureColumns();
std::span<const KeptColumn<KeptForecast>> ForecastColumns();

// Writes a run, in place of what was kept under its id; tags that were given meanwhile stay. All or nothing. What looks
// like a secret in its project and labels is not kept.
Result<void> PutRun(SqliteDatabase& history, const HistoryRun& run);

// A bound of an amount of money: ">50".
struct CostBound {
  enum class Relation : std::uint8_t { kMore, kAtLeast, kLess, kAtMost };
  Relation relation = Relation::kMore;
  std::int64_t nano = 0;  // in the currency of each run
};
Result<CostBound> ParseCostBound(std::string_view text);

// Which runs are meant; what is not set leaves none out.
struct RunFilter {
  std::string project;
  std::string experiment;                                 // the value of any experiment id, or of a tag
  std::vector<std::pair<std::string, std::string>> tags;  // all of them
  std::optional<CostBound> cost;                          // a run without a cost is left out
  std::optional<Instant> since, until;                    // of the start: since <= start < until
};

// The runs, the newest first.
Result<std::vector<HistoryRun>> ListRuns(const SqliteDatabase& history, const RunFilter& filter = {});
// The run whose id starts with `id`, or the newest for "last". Several are named in the error. `name` is the file's.
Result<HistoryRun> FindRun(const SqliteDatabase& history, const std::string& id, const std::string& name);

// For each of `runs`, newest first as listed: the id of the run that counts its GPU time too; empty if none does. That
// is the outermost run around it (HistoryRun::parent) that is kept on the same host and measured GPUs at least as long:
// its command started this one, so its figures hold this one's. A sum over runs leaves those out that have one. A run
// that measured more than all around it (another host, --all-gpus) has none.
std::vector<std::string> CountedWithin(std::span<const HistoryRun> runs, std::span<const HistoryRun> all);

Result<void> SetTag(SqliteDatabase& history, const std::string& run, const std::string& key, const std::string& value);
// False if it had none of that key.
Result<bool> RemoveTag(SqliteDatabase& history, const std::string& run, const std::string& key);
// With all that hangs on it, but for the ledger.
Result<void> RemoveRun(SqliteDatabase& history, const std::string& run);

}  // namespace idleburn
