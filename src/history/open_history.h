#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "os/sqlite.h"

namespace idleburn {

// The steps that create the tables, in order. Step n brings a file of version n to version n + 1. A released step never
// changes, and a new need is a new step. So every old file can be brought up to date.
std::span<const std::string_view> HistorySteps();

// Creates the tables that the file lacks, all or none, while other programs may use it. Refuses a file of a newer
// version, and a database that is no history. `name` stands for the file in errors.
Result<void> BringUpToDate(SqliteDatabase& database, const std::string& name);

// Bytes that BeginsAsHistory needs.
inline constexpr std::size_t kHistoryHead = 72;
// Whether a file with this beginning was a history of idleburn, even if the rest is damaged.
bool BeginsAsHistory(std::string_view head);

// Whether a history has all tables. Refuses the same files as BringUpToDate.
Result<bool> IsUpToDate(const SqliteDatabase& database, const std::string& name);

// How a history is opened.
struct HistoryOptions {
  Instant now;                          // part of the name under which a damaged file is set aside
  Nanos patience{5 * kNanosPerSecond};  // how long to wait for other programs that write
  bool named = false;                   // the user named the file: then one that is no history is never moved
  std::function<void(const std::string&)> tell = [](const std::string&) {
  };  // receives one line if a file was set aside
};

// Opens the history at `path` for reading and writing beside other programs. The file and its folder are created if
// needed, readable by the user alone; the usual history of an older version, which others could read, is closed to
// them.
//
// A damaged file is set aside as PATH.corrupt-TIME, reported by `tell`, and a new one is started: a run must be kept
// even then. A file that the user named is set aside only if it begins as a history does. If the file is locked,
// unreadable, unwritable or of a newer version, that is an error, and nothing is moved.
Result<SqliteDatabase> OpenHistory(const std::string& path, const HistoryOptions& options);

// The same for a file that exists. If it cannot be written, it is opened read-only. That fails for a file of an older
// version, because it cannot be brought up to date.
Result<SqliteDatabase> OpenHistoryToRead(const std::string& path, const HistoryOptions& options);

}  // namespace idleburn
