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

using TableCells = std::map<std::string, std::string, std::less<>>;

// One row of a table of published runs, understood: what ran, and what was measured, in bytes and seconds.
struct RunRow {
  ModelFacts facts;
  RunConfig run;
  std::optional<double> peak_bytes;  // per GPU, in the metric of its table
  std::optional<double> tokens_s_per_gpu;
  std::optional<double> s_per_iter;
  double tokens_per_iter = 0;     // of one GPU: an optimizer step, or what its table calls an iteration
  bool guessed = false;           // it lacks what its table states
  bool model_guessed = false;     // of its model only the size is known
  bool defaults_unknown = false;  // of its framework, which decide on memory whatever else is said
};

// Reads a row whose columns are those of one of the tables of planning data (docs/plan.md): llm-foundry,
// Megatron-Bridge, Qwen, PEFT, litgpt, fsdp_qlora, torchtitan, torchtune; or those of another framework by their usual
// names. Which one, a cell `framework` says, or its columns. What a table does not state is its framework's published
// default. The error names what the row lacks.
Result<RunRow> ReadRunRow(const TableCells& cells);

// The name that measured runs of a framework have, of however it is written: "Lightning-AI/LitGPT 0.5" is "litgpt".
// Another framework keeps its name.
std::string FrameworkNamed(std::string_view text);

// Every column that some table has, or another name for one; others are not used.
bool IsKnownColumn(std::string_view column);
// Those that say what a run came to, and nothing of how it was configured.
std::span<const std::string_view> ResultColumns();

}  // namespace idleburn
