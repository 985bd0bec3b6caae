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

// The user's folder for our data ($XDG_DATA_HOME/idleburn); empty if the user has none.
std::string UserDataFolder();
// The history's file by the settings, else in that folder; empty if there is none.
std::string HistoryFile(const Settings& settings);
// Where recordings of runs lie beside a history: in its folder. Without a history: where they would. Empty if nowhere.
std::string RecordingFolder(const std::string& history);

// From the root of the file system, as a row names it that is read elsewhere; empty stays empty.
std::string FullPath(const std::string& path);

// How long a command waits for another program that has the history locked; and when a run has ended, and somebody
// waits for us.
inline constexpr Nanos kPatience{5 * kNanosPerSecond};
inline constexpr Nanos kPatienceAtTheEnd{kNanosPerSecond / 2};

// Opens the user's history to change it; that a damaged one was set aside is said on standard error. Runs that could
// not be written when they ended are in it.
Result<SqliteDatabase> OpenToKeep(const std::string& file, Instant now, Nanos patience = kPatience);
// The same to read it, also where it may not be written. Absent if there is none yet.
Result<std::optional<SqliteDatabase>> OpenToRead(const std::string& file, Instant now, Nanos patience = kPatience);

// Keeps a run beside a history that another program has locked; whoever opens that next takes it in.
Result<void> KeepForLater(const std::string& file, const HistoryRun& run);

// What a ledger teaches of each lever.
RecoveredShares SharesOf(const LedgerView& ledger);
// What the user's own verified changes teach of each lever; that it cannot be read is said on standard error, and the
// prior stands.
RecoveredShares OwnShares(const Settings& settings, Instant now, Nanos patience = kPatience);

}  // namespace idleburn
