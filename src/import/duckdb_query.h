#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/table_stream.h"

namespace idleburn {

// Queries files with DuckDB's C library, which is loaded on first use. It reads Parquet files that ParquetReader does
// not cover, and the export of samples writes Parquet with it (report/samples_csv.cc). In results, integers must be
// cast to BIGINT, real numbers to DOUBLE and kOther to VARCHAR; other types are read as they are.
class DuckDbConnection {
 public:
  DuckDbConnection() = default;
  DuckDbConnection(const DuckDbConnection&) = delete;
  DuckDbConnection& operator=(const DuckDbConnection&) = delete;
  virtual ~DuckDbConnection() = default;

  // Runs one statement and streams its result. The connection outlives the stream. An error is the first line of
  // DuckDB's message.
  virtual Result<std::unique_ptr<TableStream>> Query(const std::string& sql) = 0;
};

// Opens an empty in-memory database that neither spills to disk nor loads extensions. The library is the system's, else
// the one beside the program, else the one that the build fetched. If there is none, the error says how to get it.
Result<std::unique_ptr<DuckDbConnection>> OpenDuckDb(int threads);

// Quotes for SQL: a name as "a""b", a text as 'a''b'.
std::string SqlName(std::string_view name);
std::string SqlText(std::string_view text);

}  // namespace idleburn
