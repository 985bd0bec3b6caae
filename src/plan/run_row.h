#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/model_facts.h"
#include "plan/run_config.h"

namespace idleburn {

// Tables of published runs, read cell by cell. Every group publishes its own columns, units and words for "nothing", so
// a row is first read into one RunRow, and only that is calibrated, predicted or planned. This file knows the words;
// plan/table_formats.h knows the tables.

// A column's name without its unit and its way of writing: "Seq-Len (tokens)" becomes "seq_len".
std::string PlainColumn(std::string_view name);

// Other names for what a column says, as training programs and tables call it; empty if none is known.
std::span<const std::string_view> SynonymsOf(std::string_view column);

// Whether the text stands for an empty cell of the column: "NaN", "unknown", "-"; "none" too, unless it says that
// something is off.
bool IsBlankCell(std::string_view column, std::string_view text);

// Digits behind the point that a number of a plan or a table may have: "1.5M".
inline constexpr int kCountDecimals = 6;

// Takes the letter off "7B" or "4k" and returns what it stands for, 1 without one. A thousand tokens of a sequence are
// 1024, as models are built; of anything else they are 1000.
double TakeCountUnit(std::string_view key, std::string_view& digits);

// A row's cells by the name of their column.
using TableCells = std::map<std::string, std::string, std::less<>>;

// One row of a table of published runs, understood: what ran, and what was measured, in bytes and seconds.
struct RunRow {
  ModelFacts facts;
  RunConfig run;
  // Per GPU, in the metric of its table.
  std::optional<double> peak_bytes;
  std::optional<double> tokens_s_per_gpu;
  std::optional<double> s_per_iter;
  // Tokens of one GPU in an optimizer step, or in what its table calls an iteration.
  double tokens_per_iter = 0;
  // Whether the row lacks what its table states.
  bool guessed = false;
  // Whether only the size of its model is known.
  bool model_guessed = false;
  // Whether nobody knows the defaults of its framework, which decide on memory whatever else is said.
  bool defaults_unknown = false;
};

// Reads a row whose columns are those of one of the tables of planning data (docs/plan.md): llm-foundry,
// Megatron-Bridge, Qwen, PEFT, litgpt, fsdp_qlora, torchtitan, torchtune; or those of another framework by their usual
// names. Which one, a cell `framework` says, or its columns. What a table does not state is its framework's published
// default. The error names what the row lacks.
Result<RunRow> ReadRunRow(const TableCells& cells);

// A framework's name as measured runs have it, however it is written: "Lightning-AI/LitGPT 0.5" is "litgpt". Another
// framework keeps its name.
std::string FrameworkNamed(std::string_view text);

// Whether some table has the column, or another name for it. Other columns are not used.
bool IsKnownColumn(std::string_view column);
// Columns that say what a run came to, and nothing of how it was configured.
std::span<const std::string_view> ResultColumns();

}  // namespace idleburn
