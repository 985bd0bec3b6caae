#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/table_stream.h"

namespace idleburn {

// A column of rows that are appended to a table. Integers are of a column BIGINT. A time is in microseconds since 1970,
// of a column TIMESTAMP. A text is copied.
struct AppendColumn {
  enum class Kind : std::uint8_t { kInteger, kTime, kText };
  Kind kind = Kind::kInteger;
  std::vector<std::int64_t> numbers = {};    // one for each row, unless texts
  std::vector<std::string_view> texts = {};  // one for each row of texts
  std::vector<std::uint8_t> nulls = {};      // one for each row: 1 without a value
};

// Appends rows to one table. Rows are in the table after Close; without Close they are lost.
class DuckDbAppender {
 public:
  DuckDbAppender() = default;
  DuckDbAppender(const DuckDbAppender&) = delete;
  DuckDbAppender& operator=(const DuckDbAppender&) = delete;
  virtual ~DuckDbAppender() = default;
  // The columns of the table in its order, each with `rows` rows.
  virtual Result<void> Append(std::span<const AppendColumn> columns, std::size_t rows) = 0;
  virtual Result<void> Close() = 0;
};

// Queries files with DuckDB's C library, which is loaded on first use. It reads Parquet files that ParquetReader does
// not cover, and the export of samples writes Parquet with it (report/samples_csv.cc). The store of bills is a database
// of it (bill/bill_store.h). In results, integers must be cast to BIGINT, real numbers to DOUBLE and kOther to VARCHAR;
// other types are read as they are.
class DuckDbConnection {
 public:
  DuckDbConnection() = default;
  DuckDbConnection(const DuckDbConnection&) = delete;
  DuckDbConnection& operator=(const DuckDbConnection&) = delete;
  virtual ~DuckDbConnection() = default;

  // Runs one statement and streams its result. The connection outlives the stream. An error is the first line of
  // DuckDB's message.
  virtual Result<std::unique_ptr<TableStream>> Query(const std::string& sql) = 0;
  // Runs one statement to its end and drops its rows.
  Result<void> Execute(const std::string& sql);
  // Fails unless `sql` is one statement that only reads: SELECT, or what DuckDB reads as one.
  virtual Result<void> CheckReads(const std::string& sql) = 0;
  // Begins to append to a table. The connection outlives the appender.
  virtual Result<std::unique_ptr<DuckDbAppender>> AppendTo(const std::string& table) = 0;
};

// Opens an empty in-memory database that neither spills to disk nor loads extensions. The library is the system's, else
// the one beside the program, else the one that the build fetched. If there is none, the error says how to get it.
Result<std::unique_ptr<DuckDbConnection>> OpenDuckDb(int threads);

// A database that may lie in a file and may spill to disk.
struct DuckDbPlace {
  std::string path = {};          // empty: in memory
  std::string spill_folder = {};  // for what memory does not hold; empty: fail instead
  std::string memory = "1GB";     // an upper limit
  int threads = 1;
};
// Opens it, or creates it. `whose` begins the error if there is no library: "idleburn bill".
Result<std::unique_ptr<DuckDbConnection>> OpenDuckDbAt(const DuckDbPlace& place, const std::string& whose);

// Quotes for SQL: a name as "a""b", a text as 'a''b'.
std::string SqlName(std::string_view name);
std::string SqlText(std::string_view text);

}  // namespace idleburn
