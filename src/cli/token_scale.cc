#include "cli/token_scale.h"

#include "plan/run_arithmetic.h"

namespace idleburn {

TokenScale ScaleOf(const RunConfig& run) {
  return {EffectiveBatch(run.micro_batch, run.accumulation, run.DataParallel()) * run.sequence, run.sequence};
}

std::optional<double> TokensOf(const WorkSaid& work, const TokenScale& scale) {
  if (work.tokens) return static_cast<double>(*work.tokens);
  if (work.samples && scale.sample) return static_cast<double>(*work.samples) * *scale.sample;
  if (work.steps && scale.step) return static_cast<double>(*work.steps) * *scale.step;
  return std::nullopt;
}

}  // namespace idleburn
