#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/run_row.h"

namespace idleburn {

// How each published table writes a run. A table states some things and takes others for granted, and its framework's
// documentation says what those are. Each reader below fills in both, so that a row of any table becomes the same kind
// of RunRow. Only plan/run_row.cc calls them.

// Reads the cells of one row, and remembers the first thing that was wrong.
class RowReader {
 public:
  // Keeps a reference to the cells, which must live as long as the reader.
  explicit RowReader(const TableCells& cells);

  // The cell of the column. Where that is empty, the cell of another name for it.
  [[nodiscard]] std::string Text(std::string_view column) const;
  // The same as letters and digits in lower case: what a word says, however it is written.
  [[nodiscard]] std::string Word(std::string_view column) const;
  // Whether the column itself has a value, not another name for it.
  [[nodiscard]] bool Says(std::string_view column) const;
  // The cell, or a complaint if it is empty.
  std::string Stated(std::string_view column);
  // A number from 0 on. An empty cell gives `otherwise`; without one, and for anything else, there is a complaint.
  double Number(std::string_view column, std::optional<double> otherwise = std::nullopt);
  // A number from 1 on; anything less is a complaint.
  double Count(std::string_view column, std::optional<double> otherwise = std::nullopt);
  // A result above 0. Never complains, because results may be absent.
  std::optional<double> Measured(std::string_view column);
  std::optional<bool> Switch(std::string_view column);
  // A well-known model, or one by the shape in the row. From a stated size alone it is one of the usual shape.
  ModelFacts Model(const std::string& name);
  // Keeps the first complaint; later ones are mostly its consequences.
  void Complain(std::string message);
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] bool guessed_model() const { return guessed_model_; }

 private:
  const TableCells& cells_;
  std::string complaint_;
  bool guessed_model_ = false;
};

// How one table writes a run.
struct TableFormat {
  std::string_view framework;
  // Columns that only this table has, with "|" between them.
  std::string_view telling;
  // All columns that say how a run was configured.
  std::string_view columns;
  // Columns without which a prediction is a guess.
  std::string_view needed;
  RunRow (*read)(RowReader& reader);
};

// One reader a table. A row that cannot be read leaves a complaint in the reader; the RunRow is then of no use.
RunRow ReadLlmFoundryRow(RowReader& reader);
RunRow ReadMegatronBridgeRow(RowReader& reader);
RunRow ReadPeftRow(RowReader& reader);
RunRow ReadLitgptRow(RowReader& reader);
RunRow ReadFsdpQloraRow(RowReader& reader);
RunRow ReadTorchtitanRow(RowReader& reader);
RunRow ReadTorchtuneRow(RowReader& reader);
RunRow ReadQwenRow(RowReader& reader);
RunRow ReadAnyRow(RowReader& reader);

}  // namespace idleburn
