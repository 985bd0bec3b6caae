#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/table_stream.h"

namespace idleburn {

// Queries over files with DuckDB's C library, which is loaded when it is first needed. Of a result, integers are read
// cast to BIGINT, real numbers to DOUBLE, kOther to VARCHAR, the rest as it is.
class DuckDbConnection {
 public:
  DuckDbConnection() = default;
  DuckDbConnection(const DuckDbConnection&) = delete;
  DuckDbConnection& operator=(const DuckDbConnection&) = delete;
  virtual ~DuckDbConnection() = default;

  // The connection outlives the stream.
  virtual Result<std::unique_ptr<TableStream>> Query(const std::string& sql) = 0;
};

// Opens a database in memory with nothing in it; it neither spills to disk nor loads extensions. The library is the
// system's, else the one beside the program, else the one that the build fetched; without any the error says how to
// get it.
Result<std::unique_ptr<DuckDbConnection>> OpenDuckDb(int threads);

// "a""b": a name as SQL quotes it. 'a''b': a text.
std::string SqlName(std::string_view name);
std::string SqlText(std::string_view text);

}  // namespace idleburn
