#include "report/parquet_file.h"

#include <filesystem>

#include "import/duckdb_query.h"
#include "os/output_file.h"
#include "text/strings.h"

namespace idleburn {

PartFile::~PartFile() {
  if (!path_.empty()) static_cast<void>(RemoveFile(path_));
}

Result<void> PartFile::Rename(const std::string& name) {
  std::error_code error;
  std::filesystem::rename(path_, name, error);
  if (error) return Fail(name + ": cannot be written: " + error.message());
  path_.clear();
  return {};
}

Result<void> WriteParquet(const std::string& csv, std::span<const CsvColumn> columns, const std::string& select,
                          const std::string& output) {
  const std::unique_ptr<DuckDbConnection> duckdb = TRY(OpenDuckDb(1));
  PartFile part(output + ".part");
  const std::string types = ListText(
      columns, ", ", [](const CsvColumn& column) { return SqlText(column.name) + ": " + SqlText(column.sql_type); });
  const Result<std::unique_ptr<TableStream>> done = duckdb->Query(
      "COPY (SELECT " + select + " FROM read_csv(" + SqlText(csv) +
      ", header = true, auto_detect = false, delim = ',', quote = '\"', " + "escape = '\"', columns = {" + types +
      "})) TO " + SqlText(part.path()) + " (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION 'V2')");
  if (!done) return Fail(output + ": cannot be written: " + done.error().message);
  return part.Rename(output);
}

}  // namespace idleburn
