#include "plan/flops.h"

namespace idleburn {

TokenFlops FlopsOf(const ModelFacts& facts, const RunConfig& run) {
  const ParamCounts counts = CountParams(facts);
  const double matmul = counts.active_body + static_cast<double>(facts.vocab) * static_cast<double>(facts.hidden);
  const double trained = run.method == TuneMethod::kAllWeights ? matmul : run.trained + run.trained_copy / 2;
  TokenFlops flops;
  flops.forward = 2 * matmul;
  flops.backward_input = 2 * matmul;
  flops.backward_weight = 2 * trained;
  if (run.checkpointing == Checkpointing::kWholeLayers) flops.recompute = 2 * counts.active_body;
  if (run.checkpointing == Checkpointing::kSelective) flops.recompute = counts.active_body;  // every other matmul
  const std::int64_t attending = facts.attention_layers > 0 ? facts.attention_layers : facts.layers;
  flops.attention = 4 * static_cast<double>(attending) * QueryWidth(facts) *
                    (run.mean_sequence > 0 ? run.mean_sequence : run.sequence);
  return flops;
}

double RuleOfThumbFlops(double params, TuneMethod method, bool checkpointing) {
  return params * ((method == TuneMethod::kAllWeights ? 6 : 4) + (checkpointing ? 2 : 0));
}

}  // namespace idleburn
