#pragma once

#include <string>
#include <vector>

#include "base/result.h"

// `idleburn bill sql`: one SELECT over the imported bills, for analysts. It can only read: the store is attached
// read-only, files and settings are out of reach, and anything but one SELECT is refused.
namespace idleburn {

// The answer as text; null is an empty cell.
struct SqlAnswer {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool cut = false;  // there are more than kMostSqlRows
};
inline constexpr std::size_t kMostSqlRows = 1'000'000;

// Views: charges (FOCUS columns, import, line), imports, findings; gpu_hours with a ledger of `idleburn fleet`.
Result<SqlAnswer> AskBills(const std::string& store, const std::string& ledger, const std::string& sql);

}  // namespace idleburn
