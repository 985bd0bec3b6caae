#pragma once

#include <span>
#include <string>
#include <string_view>

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

}  // namespace idleburn
