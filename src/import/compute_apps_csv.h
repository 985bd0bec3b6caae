#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/importer.h"
#include "text/line_reader.h"

namespace idleburn {

// `nvidia-smi --query-compute-apps=... --format=csv`: a row for every process that holds a compute context.

// The cells of a row as they stand ("[N/A]" included), by column; absent if the query did not ask for it.
struct ComputeApp {
  enum Column : std::uint8_t { kTimestamp, kGpuName, kBusId, kSerial, kUuid, kPid, kProcessName, kUsedMemory };
  static constexpr std::size_t kColumnCount = 8;

  std::array<std::optional<std::string_view>, kColumnCount> cells;  // valid until the next row
  [[nodiscard]] std::string_view Get(Column c) const { return cells[c].value_or(std::string_view()); }
};

// Reads row by row; a row that does not fit the header is counted and skipped. Columns come in any order.
class ComputeAppsReader {
 public:
  ComputeAppsReader(ByteSource& in, DataQuality& quality);
  // True and the next row, or false at the end. An error if the input does not begin with a header.
  Result<bool> Next(ComputeApp* app);
  // True if the query asked for that column.
  [[nodiscard]] bool Has(ComputeApp::Column column) const;
  [[nodiscard]] Place place() const { return {&lines_.name(), lines_.number()}; }

 private:
  bool TakeHeader(std::string_view line);
  bool TakeRow(std::string_view line, ComputeApp* app) const;

  LineReader lines_;
  DataQuality& quality_;
  std::vector<std::optional<ComputeApp::Column>> columns_;  // absent: a column that is not used
};

bool SniffComputeAppsCsv(std::string_view head);
// How many processes hold a context, by GPU and time. A GPU that had some and has no row in a later sweep has none
// then: the query lists every GPU.
Result<void> ImportComputeAppsCsv(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
