#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "plan/measured_steps.h"
#include "plan/run_row.h"

namespace idleburn {

// Rows of --predict that bring their own measured steps, in columns probe1_*, probe2_* and so on. A probe has a size
// (seq_len, micro_batch, grad_accum, global_batch, or tokens of a step) and a time (s_per_iter, or tokens_s_per_gpu).
// What a probe does not say is as in its row. Such a row needs no model and no GPU.

// Whether the column, by its plain name, is one of a probe's.
bool IsProbeColumn(std::string_view column);

// Seconds of the row's step by its probes. Absent without probes. The error says in a few words what is missing.
Result<std::optional<LikelyRange>> ProbedStep(const TableCells& cells);

// Tokens of one GPU in a step of the row. The error says what is missing.
Result<double> TokensOfStep(const TableCells& cells);

}  // namespace idleburn
