#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/run_row.h"

namespace idleburn {

// Reads the cells of one row, and remembers the first thing that was wrong.
class RowReader {
 public:
  explicit RowReader(const TableCells& cells);

  [[nodiscard]] std::string Text(std::string_view column) const;
  // A number from 0; `otherwise` if the cell is empty, a complaint if there is no such.
  double Number(std::string_view column, std::optional<double> otherwise = std::nullopt);
  double Count(std::string_view column, std::optional<double> otherwise = std::nullopt);  // from 1
  std::optional<double> Measured(std::string_view column);  // above 0; never a complaint: results may be absent
  std::optional<bool> Switch(std::string_view column);
  ModelFacts Model(const std::string& name);
  void Complain(std::string message);
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  const TableCells& cells_;
  std::string complaint_;
};

// One table's way to write a run.
struct TableFormat {
  std::string_view framework;
  std::string_view telling;  // columns that only this table has, "|" between them
  RunRow (*read)(RowReader& reader);
};

RunRow ReadLlmFoundryRow(RowReader& reader);
RunRow ReadMegatronBridgeRow(RowReader& reader);
RunRow ReadPeftRow(RowReader& reader);
RunRow ReadLitgptRow(RowReader& reader);
RunRow ReadFsdpQloraRow(RowReader& reader);
RunRow ReadTorchtitanRow(RowReader& reader);
RunRow ReadTorchtuneRow(RowReader& reader);
RunRow ReadQwenRow(RowReader& reader);

// The text of a cell; empty if there is none.
std::string TextIn(const TableCells& cells, std::string_view column);

}  // namespace idleburn
