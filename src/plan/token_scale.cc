#include "plan/token_scale.h"

#include "plan/run_arithmetic.h"

namespace idleburn {

TokenScale ScaleOf(const RunConfig& run) {
  return {EffectiveBatch(run.micro_batch, run.accumulation, run.DataParallel()) * run.sequence, run.sequence};
}

std::optional<double> TokensOf(const WorkCount& work, const TokenScale& scale) {
  if (work[WorkUnit::kToken]) return static_cast<double>(*work[WorkUnit::kToken]);
  if (work[WorkUnit::kSample] && scale.sample) return static_cast<double>(*work[WorkUnit::kSample]) * *scale.sample;
  if (work[WorkUnit::kStep] && scale.step) return static_cast<double>(*work[WorkUnit::kStep]) * *scale.step;
  return std::nullopt;
}

}  // namespace idleburn
