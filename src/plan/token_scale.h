#pragma once

#include <optional>

#include "base/work_unit.h"
#include "plan/run_config.h"

namespace idleburn {

// How many tokens a step and a sample are; absent where it is not known.
struct TokenScale {
  std::optional<double> step;
  std::optional<double> sample;
};
TokenScale ScaleOf(const RunConfig& run);

// Tokens of work, by the finest unit that it was counted in; absent where that cannot be said in tokens.
std::optional<double> TokensOf(const WorkCount& work, const TokenScale& scale);

}  // namespace idleburn
