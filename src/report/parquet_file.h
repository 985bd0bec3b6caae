#pragma once

#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "report/samples_csv.h"

namespace idleburn {

// A file that gets its name when it is whole, and is removed if that never happens.
class PartFile {
 public:
  explicit PartFile(std::string path) : path_(std::move(path)) {}
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  Result<void> Rename(const std::string& name);

 private:
  std::string path_;
};

// Writes a table of text with a header line as Parquet, by DuckDB. `select` names what of it, "*" for all.
Result<void> WriteParquet(const std::string& csv, std::span<const CsvColumn> columns, const std::string& select,
                          const std::string& output);

}  // namespace idleburn
