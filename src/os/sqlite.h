#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace idleburn {

// A query of a SqliteDatabase, which outlives it. Columns and parameters count from 0.
class SqliteStatement {
 public:
  // Goes to the next row, the first at first; false after the last. An error is final.
  Result<bool> Step();
  // Values of the current row, absent where it holds NULL or a value of another type.
  [[nodiscard]] std::optional<std::int64_t> Integer(int column) const;
  [[nodiscard]] std::optional<std::string_view> Text(int column) const;  // valid until the next Step or Rewind
  // Before the first row again, with a value for the parameter.
  void Rewind(int parameter, std::int64_t value);

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqliteStatement(sqlite3_stmt* statement, std::string name) : statement_(statement), name_(std::move(name)) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string name_;
};

// A SQLite database. Errors name the file, in one line, and say what to do.
class SqliteDatabase {
 public:
  // For reading only: neither the file nor its folder is written, no lock is taken, and nothing in the file is trusted.
  // Changes of a writer that has not finished (in PATH-wal) are seen. `name` is what errors call it.
  static Result<SqliteDatabase> OpenToRead(const std::string& path, std::string name);

  [[nodiscard]] Result<SqliteStatement> Prepare(std::string_view sql) const;
  // Pages times their size.
  [[nodiscard]] Result<std::int64_t> Size() const;
  // By name; without views and SQLite's own.
  [[nodiscard]] Result<std::vector<std::string>> Tables() const;
  // Of a table; empty if there is no such table.
  [[nodiscard]] Result<std::vector<std::string>> Columns(std::string_view table) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  SqliteDatabase(sqlite3* database, std::string name) : database_(database), name_(std::move(name)) {}

  std::unique_ptr<sqlite3, Close> database_;
  std::string name_;
};

// A table's or column's name as part of a query.
std::string SqliteName(std::string_view name);
// True if the first bytes of a file say that it is a SQLite database.
bool SniffSqlite(std::string_view head);

}  // namespace idleburn
