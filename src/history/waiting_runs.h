#pragma once

#include <string>

#include "history/open_history.h"
#include "history/run.h"

namespace idleburn {

// Runs that ended while another program had the history locked. Nobody shall wait for that program, and nothing shall
// be lost: such a run waits in a small history of its own, in the folder PATH.waiting, until the history at PATH is
// opened again by anybody.

// Writes the run there.
Result<void> LetRunWait(const HistoryRun& run, const std::string& path, const HistoryOptions& options);
// Whether there is one.
bool AnyRunWaits(const std::string& path);
// Takes all of them into the history. Those that cannot be, because it may not be written or is still locked, wait on,
// which is told.
void TakeInWaitingRuns(SqliteDatabase& history, const std::string& path, const HistoryOptions& options);

}  // namespace idleburn
