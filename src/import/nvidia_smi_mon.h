#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/importer.h"
#include "text/line_reader.h"

namespace idleburn {

// Logs of `nvidia-smi dmon` (a row per GPU) and `nvidia-smi pmon` (a row per process and GPU). Columns are found by
// the names of the '#' header lines, which repeat and may change within a log.

// Reads row by row; a row that does not fit its header is counted and skipped.
class MonReader {
 public:
  MonReader(ByteSource& in, DataQuality& quality);

  // True if there is another row, whose cells are valid until the next call; false at the end.
  Result<bool> Next();
  // The cell of a column of this row as it stands ("-" included); absent without that column.
  [[nodiscard]] std::optional<std::string_view> Cell(std::string_view column) const;
  // Names of the present header.
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  // Counts headers; a new one may bring other columns.
  [[nodiscard]] int header() const { return header_; }
  [[nodiscard]] Place place() const { return {&lines_.name(), lines_.number()}; }

 private:
  void TakeHeader(std::string_view line);
  bool TakeRow(std::string_view line);

  LineReader lines_;
  DataQuality& quality_;
  std::vector<std::string> columns_;
  std::vector<std::string_view> cells_;
  int header_ = 0;
  std::size_t row_end_ = 0;  // of the last row under this header: where its last cell before a command ended
};

bool SniffNvidiaSmiMon(std::string_view head);
// Devices are known by index only. Rows without a date and time stand a second apart, which is how often both tools
// print by default. pmon gives the number of processes with a compute context and no utilisation of the device.
Result<void> ImportNvidiaSmiMon(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
