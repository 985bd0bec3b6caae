#pragma once

#include <optional>
#include <string>

#include "config/settings.h"
#include "history/ledger.h"
#include "history/open_history.h"
#include "history/run.h"
#include "os/sqlite.h"
#include "recommend/saving_draws.h"

namespace idleburn {

// The user's own history: where it lies, and runs that could not be written to it.
//
// A run may end while another program has the history locked. Nobody should wait for that program, and nothing may be
// lost. So such a run waits in a small history of its own in the folder PATH.waiting, until any command opens the
// history at PATH.

// Writes the run to that folder. Fails if `path` is no history, or on a full disk.
Result<void> LetRunWait(const HistoryRun& run, const std::string& path, const HistoryOptions& options);
// Whether any run waits for the history at `path`.
bool AnyRunWaits(const std::string& path);
// Moves all waiting runs into the history. Runs that cannot be moved, because the history is locked or read-only,
// keep waiting, and `options.tell` says so.
void TakeInWaitingRuns(SqliteDatabase& history, const std::string& path, const HistoryOptions& options);

// The user's folder for idleburn's data, $XDG_DATA_HOME/idleburn or ~/.local/share/idleburn. Empty if the user has
// none.
std::string UserDataFolder();
// Where the agent keeps its counts: in $STATE_DIRECTORY, which systemd makes, or else in that folder. Empty if there is
// none.
std::string AgentStateFolder();
// The history's file as set, or else in that folder. Empty if there is none.
std::string HistoryFile(const Settings& settings);
// Where recordings lie: in the folder of the history, or without a history in the user's data folder. Empty if there
// is none.
std::string RecordingFolder(const std::string& history);

// The absolute path of a file. Paths are kept in rows that are read from other folders. Empty stays empty.
std::string FullPath(const std::string& path);

// How long a command waits for a program that has the history locked. At the end of a run it waits less: somebody
// waits for the command to return.
inline constexpr Nanos kPatience{5 * kNanosPerSecond};
inline constexpr Nanos kPatienceAtTheEnd{kNanosPerSecond / 2};

// Opens the user's history for writing, and takes in runs that waited. A damaged one is set aside, which is said on
// standard error.
Result<SqliteDatabase> OpenToKeep(const std::string& file, Instant now, Nanos patience = kPatience);
// The same for reading, even if the file cannot be written. Absent if there is no history yet, which is no error.
Result<std::optional<SqliteDatabase>> OpenToRead(const std::string& file, Instant now, Nanos patience = kPatience);

// Keeps a run beside a history that another program has locked.
Result<void> KeepForLater(const std::string& file, const HistoryRun& run);

// What a ledger teaches about each lever.
RecoveredShares SharesOf(const LedgerView& ledger);
// What the user's own verified changes teach about each lever. If the history cannot be read, that is said on
// standard error, and advice uses the prior.
RecoveredShares OwnShares(const Settings& settings, Instant now, Nanos patience = kPatience);

}  // namespace idleburn
