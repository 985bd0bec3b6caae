#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "os/sqlite.h"

namespace idleburn {

// An export of Nsight Systems as tables of which any table and any column may be absent.
class NsysDatabase {
 public:
  // Opens a plain file by its name; anything else is first written to a temporary file. A SQLite database of something
  // else is an error that says what is in it, and so is a report that was not exported.
  static Result<NsysDatabase> Open(ByteSource& in);

  [[nodiscard]] bool Has(std::string_view table) const { return tables_.find(table) != tables_.end(); }
  [[nodiscard]] bool Has(std::string_view table, std::string_view column) const;

  using Row = SqliteStatement;
  using TakeRow = std::function<Result<void>(const Row&)>;
  // Rows of a table in the order of the file, none if there is no such table. Columns it lacks are NULL. More rows than
  // the file can hold are an error: its pages then go round in circles.
  Result<void> ForEach(std::string_view table, std::initializer_list<std::string_view> columns, const TakeRow& take);
  Result<void> ForEachOf(std::string_view query, const TakeRow& take);
  // Of StringIds; "" if the id is not there.
  Result<std::string> Text(std::int64_t id);

 private:
  NsysDatabase(SqliteDatabase database, std::string name) : database_(std::move(database)), name_(std::move(name)) {}
  Result<void> ReadSchema();

  SqliteDatabase database_;
  std::string name_;
  std::map<std::string, std::set<std::string>, std::less<>> tables_;  // with their columns
  std::int64_t most_rows_ = 0;
  std::optional<SqliteStatement> strings_;
};

}  // namespace idleburn
