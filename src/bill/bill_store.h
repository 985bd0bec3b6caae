#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "bill/bill_reader.h"
#include "bill/bill_rules.h"
#include "import/duckdb_query.h"

// The rows of imported bills, in one DuckDB database of the user. Numbers are BIGINT, a count of billionths; the view
// `charges` has them as DECIMAL(29, 9). Times are TIMESTAMP in UTC.
//
//   import   one row for each file: id, file, sha256, format, counts
//   item     what repeats: text columns of FOCUS by their names, and what was derived from them
//   charge   one row for each charge: import, line, item, hash, period_start, period_end, and the numbers by their
//            names
//   finding  broken rules: import, line, rule, amount; at most kMostFindings of a rule and import
//   closed   months that were closed, with the hash of their file (bill/bill_close.h)
//   charges  a view: every FOCUS column of every charge, with import and line
namespace idleburn {

inline constexpr std::int64_t kMostFindings = 100'000;

// Broken rules of one kind in one file.
struct RuleCount {
  BillRule rule = BillRule::kMalformedRow;
  std::int64_t rows = 0;
  std::int64_t first_line = 0;
};

// What an import did.
struct BillImport {
  BillFileFacts file;
  bool known = false;         // the same file was imported before, so nothing was done
  std::int64_t repeated = 0;  // rows that an earlier file already has
  std::int64_t replaced = 0;  // rows of earlier files that this file restates
  std::vector<RuleCount> rules;
};

// An exact sum in one currency.
struct CurrencySum {
  std::string currency;
  std::int64_t rows = 0;
  Money billed;
  Money effective;
};

class BillStore {
 public:
  // Opens or creates the store. Fails if another program has it open. Its folder is made, readable by the user only.
  static Result<BillStore> Open(const std::string& path, int threads);
  // A store of this process alone, in a temporary folder that it removes.
  static Result<BillStore> OpenScratch(int threads);

  // Imports one file, all or nothing. A file of the same content is known and does nothing. A row that an earlier file
  // has is not counted twice; a file that has a row twice has it twice. With `replace` the file restates its billing
  // periods: earlier rows of the same account and period are removed.
  Result<BillImport> Import(const std::string& path, BillReadOptions options, bool replace);

  // The sums of all rows by currency.
  Result<std::vector<CurrencySum>> Sums();
  // The folder of closed months beside the store (bill/bill_close.h).
  [[nodiscard]] std::string ClosedFolder() const { return path_ + ".closed"; }
  [[nodiscard]] DuckDbConnection& database() const { return *connection_; }

 private:
  BillStore() = default;
  Result<bool> IsKnown(const std::string& sha256);
  Result<void> Begin(const DuckDbPlace& place);

  std::string path_;
  std::shared_ptr<void> scratch_;  // removes its folder; outlives the connection
  std::unique_ptr<DuckDbConnection> connection_;
};

// The user's store: in the data folder. Empty if the user has none.
std::string UsersBillStore();

// Reads all rows of a query with text columns (cast to VARCHAR); NULL is an empty text.
Result<std::vector<std::vector<std::string>>> TextRows(DuckDbConnection& database, const std::string& sql);

}  // namespace idleburn
