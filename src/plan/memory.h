#pragma once

#include "plan/model_facts.h"
#include "plan/run_config.h"

namespace idleburn {

// The parts of a run's memory on one GPU, bytes by formula, before any calibration (docs/plan.md, "Memory").
struct MemoryParts {
  double weights = 0;    // of the body, embedding, head, adapters and copies, as stored
  double optimizer = 0;  // states and master copies
  double gradients = 0;
  double temporaries = 0;  // of the optimizer step
  double gathered = 0;     // shards of others, while they are used
  double activations = 0;
  double adapters = 0;       // what adapters keep for the backward pass
  double logits = 0;         // and the loss
  double frozen = 0;         // part of `weights` that is not trained: what loading passes through
  bool accumulates = false;  // gradients persist between passes
  bool on_device = true;     // the figure contains the context
};

MemoryParts PartsOf(const ModelFacts& facts, const RunConfig& run);

// Bytes that one token leaves in one layer for the backward pass (docs/plan.md, "Memory").
double BlockBytes(const ModelFacts& facts, const RunConfig& run);

// Multipliers that measured runs give the formulas; one set a framework, and one for those never seen.
struct MemoryCoefficients {
  double resident = 1.03;  // weights and optimizer states: padding, fragmentation
  double gathered = 1;
  double activations = 0.9;
  double adapters = 1;
  double logits = 0.9;
  double gradients = 1;
  double temporaries = 1;
  double transient = 0.1;  // share of the frozen weights that passes through twice: loading, casting, buckets
  double context_gib = 1;  // CUDA context, libraries, caches
};

// The peak of a run: what is resident, plus the larger of the two phases that never meet.
struct PeakMemory {
  double resident = 0;
  double gathered = 0;
  double gradients = 0;         // that persist, where passes accumulate
  double forward_backward = 0;  // activations, adapters, logits
  double step = 0;              // gradients, temporaries, transients
  double phase = 0;             // what of these two counts
  double context = 0;

  [[nodiscard]] double total() const { return resident + gathered + gradients + phase + context; }
};

PeakMemory PeakOf(const MemoryParts& parts, const MemoryCoefficients& coefficients);

inline constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

}  // namespace idleburn
