#pragma once

#include "plan/model_facts.h"
#include "plan/run_config.h"

namespace idleburn {

// Floating-point operations of one trained token, a multiply-add being two: forward 2 N, backward 2 N for the
// inputs and 2 N for the weights that are trained, N being the parameters of the layers and the head.
struct TokenFlops {
  double forward = 0;  // linear layers and the head; the embedding look-up is free
  double backward_input = 0;
  double backward_weight = 0;
  double recompute = 0;  // of checkpointed layers
  double attention = 0;  // forward, the causal mask not halving it: 4 L h s

  [[nodiscard]] double Linear() const { return forward + backward_input + backward_weight; }
  // Model FLOPs: no recompute, attention of forward and backward. Convention A does not halve for causality, B does.
  [[nodiscard]] double ModelFlops(bool halved) const { return Linear() + 3 * attention / (halved ? 2 : 1); }
};

TokenFlops FlopsOf(const ModelFacts& facts, const RunConfig& run);

// The rules of thumb for N parameters: 6 N full, 4 N LoRA, 2 N more with full checkpointing.
double RuleOfThumbFlops(double params, TuneMethod method, bool checkpointing);

}  // namespace idleburn
