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

// The value of a parameter or a cell. std::monostate is NULL.
using SqliteValue = std::variant<std::monostate, std::int64_t, double, std::string>;

// A query of a SqliteDatabase, which must outlive it. Columns and parameters count from 0. Prepare once and Rewind
// for each use.
class SqliteStatement {
 public:
  // Moves to the next row; false after the last. A new statement is before its first row. An error is final.
  Result<bool> Step();
  // Values of the current row. Absent for NULL and for a value of another type.
  [[nodiscard]] std::optional<std::int64_t> Integer(int column) const;
  [[nodiscard]] std::optional<double> Real(int column) const;            // also of an integer
  [[nodiscard]] std::optional<std::string_view> Text(int column) const;  // valid until the next Step or Rewind
  // Runs the statement again with a new value for one parameter.
  void Rewind(int parameter, std::int64_t value);
  // Runs the statement again with new values for the first parameters.
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

// Why a database cannot be used. A damaged one can be set aside; other faults need the user.
enum class SqliteFault : std::uint8_t { kNone, kDamaged, kOther };

// A SQLite database: the history of runs, and the profiles that Nsight Systems writes. Errors name the file, in one
// line, and say what to do. Not for several threads at once (SQLITE_OPEN_NOMUTEX).
class SqliteDatabase {
 public:
  // Opens a database for reading. It writes nothing, takes no lock and trusts nothing in the file, which may come from
  // anyone. It sees the changes of an unfinished writer (in PATH-wal). Errors call the file `name`.
  static Result<SqliteDatabase> OpenToRead(const std::string& path, std::string name);

  // Opens a database for reading and writing, beside other processes. A missing file is created, readable by this user
  // only. In WAL mode readers wait for nobody, and a writer waits up to `patience` for another writer. A committed
  // change survives a kill and a power cut (synchronous FULL): there are few changes, and none can be measured again.
  // References between tables are enforced. If it fails, *fault tells why.
  static Result<SqliteDatabase> OpenToWrite(const std::string& path, std::string name, Nanos patience,
                                            SqliteFault* fault);

  // Whether OpenToWrite may write there, to an existing file or a new one.
  static bool MayWrite(const std::string& path);

  // Checks all pages and returns the first fault.
  [[nodiscard]] SqliteFault Check() const;
  // Runs one statement with values for its parameters. Rows that it returns are dropped.
  Result<void> Execute(std::string_view sql, std::span<const SqliteValue> values = {});
  // Runs several statements without parameters.
  Result<void> ExecuteAll(const std::string& sql);
  // The number of rows that the last statement wrote or deleted.
  [[nodiscard]] std::int64_t Changes() const;
  // The row id of the last row that was inserted.
  [[nodiscard]] std::int64_t LastRowId() const;

  // Compiles a query. Step runs it.
  [[nodiscard]] Result<SqliteStatement> Prepare(std::string_view sql) const;
  // The size in bytes: pages times page size.
  [[nodiscard]] Result<std::int64_t> Size() const;
  // The names of the tables, sorted, without views and SQLite's own tables.
  [[nodiscard]] Result<std::vector<std::string>> Tables() const;
  // The columns of a table. Empty if there is no such table.
  [[nodiscard]] Result<std::vector<std::string>> Columns(std::string_view table) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  SqliteDatabase(sqlite3* database, std::string name) : database_(database), name_(std::move(name)) {}

  std::unique_ptr<sqlite3, Close> database_;
  std::string name_;
};

// Makes several changes together or not at all. Without Commit the destructor rolls them back, also on the way of an
// error. The database must outlive it. Transactions do not nest.
class SqliteTransaction {
 public:
  // Waits for another writer, as long as OpenToWrite was told to.
  static Result<SqliteTransaction> Begin(SqliteDatabase& database);
  ~SqliteTransaction();
  SqliteTransaction(SqliteTransaction&& other) noexcept;
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  // Makes the changes permanent. If it fails, the destructor still rolls them back.
  Result<void> Commit();

 private:
  explicit SqliteTransaction(SqliteDatabase& database) : database_(&database) {}
  SqliteDatabase* database_;  // null: over
};

// Quotes the name of a table or column for a query.
std::string SqliteName(std::string_view name);
// Whether the first bytes of a file are those of a SQLite database.
bool SniffSqlite(std::string_view head);

}  // namespace idleburn
