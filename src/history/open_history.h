#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "os/sqlite.h"

namespace idleburn {

// The steps that make the tables of a history, in order: step n brings a file of version n to n + 1. A step that was
// released never changes; a new need is a new step.
std::span<const std::string_view> HistorySteps();

// Makes the tables, or those that a file of an older version lacks; all or nothing, beside other programs. Refuses what
// a newer program wrote, and a database that is no history. `name` is what errors call it.
Result<void> BringUpToDate(SqliteDatabase& database, const std::string& name);

// Whether a file that begins so was once a history of idleburn, whatever became of the rest.
inline constexpr std::size_t kHistoryHead = 72;
bool BeginsAsHistory(std::string_view head);

// Whether a history has all tables; refuses the same.
Result<bool> IsUpToDate(const SqliteDatabase& database, const std::string& name);

struct HistoryOptions {
  Instant now;                          // names a damaged file that is set aside
  Nanos patience{5 * kNanosPerSecond};  // for other programs that are writing
  bool named = false;  // the file was named by the user: one that is no history of ours is none of our business
  std::function<void(const std::string&)> tell = [](const std::string&) {};  // one line: what was set aside
};

// The history at `path`, for reading and writing beside other programs; it and its folder are made if they are not
// there, for the user alone. The usual one of an older version, which others could read, is closed to them. A damaged
// one is set aside as PATH.corrupt-<time>, told, and a new one begun; a file that the user named only if it begins as a
// history does. That it is locked, may not be read or written, or is of a newer version is an error, and nothing is
// moved.
Result<SqliteDatabase> OpenHistory(const std::string& path, const HistoryOptions& options);

// The same of a file that is there. Where it may not be written it is read as it is, if it is of this version.
Result<SqliteDatabase> OpenHistoryToRead(const std::string& path, const HistoryOptions& options);

}  // namespace idleburn
