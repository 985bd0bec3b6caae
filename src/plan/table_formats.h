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

  // The cell of the column or, where that is empty, of another name for the same.
  [[nodiscard]] std::string Text(std::string_view column) const;
  // The same, letters and digits alone, in lower case: what a word says however it is written.
  [[nodiscard]] std::string Word(std::string_view column) const;
  // Whether the column itself has a value, not another name for it.
  [[nodiscard]] bool Says(std::string_view column) const;
  std::string Stated(std::string_view column);  // a complaint if there is none
  // A number from 0; `otherwise` if the cell is empty, a complaint if there is no such.
  double Number(std::string_view column, std::optional<double> otherwise = std::nullopt);
  double Count(std::string_view column, std::optional<double> otherwise = std::nullopt);  // from 1
  std::optional<double> Measured(std::string_view column);  // above 0; never a complaint: results may be absent
  std::optional<bool> Switch(std::string_view column);
  // A well-known model, or one by the shape in the row, or, from a stated size alone, one of the usual shape.
  ModelFacts Model(const std::string& name);
  void Complain(std::string message);
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] bool guessed_model() const { return guessed_model_; }

 private:
  const TableCells& cells_;
  std::string complaint_;
  bool guessed_model_ = false;
};

// One table's way to write a run.
struct TableFormat {
  std::string_view framework;
  std::string_view telling;  // columns that only this table has, "|" between them
  std::string_view columns;  // all that say how a run was configured
  std::string_view needed;   // without one of them a prediction is a guess
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
RunRow ReadAnyRow(RowReader& reader);

inline constexpr double kEightBitStates = 2.03;  // bytes a parameter: two states of 8 bits and their scales

// Whether the run fits its GPU by the formulas alone; one that is not known holds anything.
bool FitsItsGpu(const RunRow& row);
// Levers that a table does not state are taken to be set as far as the run needs them to fit its GPU: it did run.
void AssumeUntilFits(RunRow& row, const std::optional<bool>& checkpointing, bool optimizer_stated);

// As many as one fast link joins.
double GpusOfNode(std::string_view gpu);

// The number after `name` in "fsdp32tp8async"; 1 if there is none.
double DegreeIn(const std::string& parallelism, std::string_view name);

}  // namespace idleburn
