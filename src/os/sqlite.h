#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace idleburn {

// What a parameter or a cell holds; nothing is NULL.
using SqliteValue = std::variant<std::monostate, std::int64_t, double, std::string>;

// A query of a SqliteDatabase, which outlives it. Columns and parameters count from 0.
class SqliteStatement {
 public:
  // Goes to the next row, the first at first; false after the last. An error is final.
  Result<bool> Step();
  // Values of the current row, absent where it holds NULL or a value of another type.
  [[nodiscard]] std::optional<std::int64_t> Integer(int column) const;
  [[nodiscard]] std::optional<double> Real(int column) const;            // also of an integer
  [[nodiscard]] std::optional<std::string_view> Text(int column) const;  // valid until the next Step or Rewind
  // Before the first row again, with a value for the parameter.
  void Rewind(int parameter, std::int64_t value);
  // Before the first row again, with these values for the first parameters.
  void Rewind(std::span<const SqliteValue> values);

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqliteStatement(sqlite3_stmt* statement, std::string name) : statement_(statement), name_(std::move(name)) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string name_;
};

// What is wrong with a database, as far as it matters what to do about it.
enum class SqliteFault : std::uint8_t { kNone, kDamaged, kOther };

// A SQLite database. Errors name the file, in one line, and say what to do.
class SqliteDatabase {
 public:
  // For reading only: neither the file nor its folder is written, no lock is taken, and nothing in the file is trusted.
  // Changes of a writer that has not finished (in PATH-wal) are seen. `name` is what errors call it.
  static Result<SqliteDatabase> OpenToRead(const std::string& path, std::string name);

  // For reading and writing beside other processes; made, for this user alone, if it is not there. Changes are written
  // ahead (WAL): who reads waits for nobody, who writes waits up to `patience` for another who does. A committed change
  // survives a kill, and (synchronous FULL) a power cut: there are few of them, and none can be had again. References
  // between tables hold. Why it failed goes to `fault`.
  static Result<SqliteDatabase> OpenToWrite(const std::string& path, std::string name, Nanos patience,
                                            SqliteFault* fault);

  // Whether that could be, with a file that is there or one that would be made.
  static bool MayWrite(const std::string& path);

  // Looks through all pages; the fault of the first that is wrong.
  [[nodiscard]] SqliteFault Check() const;
  // One statement, with values for its parameters; rows it returns are dropped.
  Result<void> Execute(std::string_view sql, std::span<const SqliteValue> values = {});
  // Statements without parameters, one behind the other.
  Result<void> ExecuteAll(const std::string& sql);
  // Rows that the last statement wrote or deleted.
  [[nodiscard]] std::int64_t Changes() const;
  [[nodiscard]] std::int64_t LastRowId() const;

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

// Several changes that are made together or not at all: taken back unless committed. The database outlives it.
class SqliteTransaction {
 public:
  // Waits for another writer.
  static Result<SqliteTransaction> Begin(SqliteDatabase& database);
  ~SqliteTransaction();
  SqliteTransaction(SqliteTransaction&& other) noexcept;
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  Result<void> Commit();

 private:
  explicit SqliteTransaction(SqliteDatabase& database) : database_(&database) {}
  SqliteDatabase* database_;  // null: over
};

// A table's or column's name as part of a query.
std::string SqliteName(std::string_view name);
// True if the first bytes of a file say that it is a SQLite database.
bool SniffSqlite(std::string_view head);

}  // namespace idleburn
