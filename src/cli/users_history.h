#pragma once

#include <optional>
#include <string>

#include "cli/settings.h"
#include "history/ledger_view.h"
#include "os/sqlite.h"
#include "recommend/recovered_share.h"

namespace idleburn {

// The user's folder for our data ($XDG_DATA_HOME/idleburn); empty if the user has none.
std::string UserDataFolder();
// The history's file by the settings, else in that folder; empty if there is none.
std::string HistoryFile(const Settings& settings);
// Where recordings of runs lie beside a history: in its folder. Without a history: where they would. Empty if nowhere.
std::string RecordingFolder(const std::string& history);

// From the root of the file system, as a row names it that is read elsewhere; empty stays empty.
std::string FullPath(const std::string& path);

// Opens the user's history to change it; that a damaged one was set aside is said on standard error.
Result<SqliteDatabase> OpenToKeep(const std::string& file, Instant now);
// The same to read it, also where it may not be written. Absent if there is none yet.
Result<std::optional<SqliteDatabase>> OpenToRead(const std::string& file, Instant now);

// What a ledger teaches of each lever.
RecoveredShares SharesOf(const LedgerView& ledger);
// What the user's own verified changes teach of each lever; that it cannot be read is said on standard error, and the
// prior stands.
RecoveredShares OwnShares(const Settings& settings, Instant now);

}  // namespace idleburn
