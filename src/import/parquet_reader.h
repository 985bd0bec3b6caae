#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "import/parquet_footer.h"
#include "import/table_stream.h"

namespace idleburn {

// A Parquet file read without DuckDB, several times as fast, where it has only what nearly all logs have: flat columns
// of integers, reals, timestamps and texts; plain, in dictionaries or (integers) as packed differences; not packed or
// by snappy, gzip or zstd. What it gives is what DuckDB would.
class ParquetReader {
 public:
  // A column to read, and the form: that of the column itself, or kText of an integer.
  struct Selection {
    std::size_t position = 0;
    TableType form = TableType::kOther;
  };

  // Absent if the file is damaged or is not covered. `file` outlives the reader.
  static std::optional<ParquetReader> Open(const SeekableFile& file);

  [[nodiscard]] const std::vector<StreamColumn>& columns() const { return columns_; }
  // Null if one of the columns is not covered, in which case nothing was read. `file` outlives the stream. Pages that
  // turn out to be damaged are errors, which do not name the file. Never holds more than a page of each column.
  [[nodiscard]] std::unique_ptr<TableStream> Read(std::span<const Selection> selected) const;

 private:
  ParquetReader(const SeekableFile& file, ParquetFooter footer);

  const SeekableFile* file_;
  std::shared_ptr<const ParquetFooter> footer_;
  std::vector<StreamColumn> columns_;
};

}  // namespace idleburn
