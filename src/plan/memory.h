#pragma once

#include <cstdint>
#include <string_view>

#include "plan/model_facts.h"
#include "plan/run_config.h"

namespace idleburn {

// How much memory one GPU needs at the peak of a run. The parts come from formulas, in bytes (docs/plan.md, "Memory").
// Multipliers fitted to measured runs then turn them into what nvidia-smi shows. Parts and multipliers are kept apart
// so that a fit can be judged, and so that a report can name what fills the GPU.

// The parts of a run's memory on one GPU, bytes by formula, before any calibration (docs/plan.md, "Memory").
struct MemoryParts {
  // Weights of the body, embedding, head, adapters and copies, as they are stored.
  double weights = 0;
  // States of the optimizer and master copies of the weights.
  double optimizer = 0;
  double gradients = 0;
  // What the optimizer step needs while it runs.
  double temporaries = 0;
  // Shards of other GPUs, while they are used.
  double gathered = 0;
  // What layers keep for the backward pass.
  double activations = 0;
  // What the layer holds that is computed again in the backward pass, after the loss is done.
  double recomputed = 0;
  // What adapters keep for the backward pass.
  double adapters = 0;
  // Logits, their copies and the loss.
  double logits = 0;
  // The part of `weights` that is not trained. Loading passes through it.
  double frozen = 0;
  // Whether gradients persist between passes.
  bool accumulates = false;
  // Whether the optimizer's states are paged, so that they leave a GPU that is full.
  bool paged = false;
  // Whether the figure contains the context, as nvidia-smi's does.
  bool on_device = true;
};

// Works out the parts by formula. Never fails; facts that contradict each other are refused earlier, by CheckFacts.
MemoryParts PartsOf(const ModelFacts& facts, const RunConfig& run);

// Bytes of a CUDA context at the least (docs/plan.md, "Memory").
inline constexpr double kLeastContext = 0.47 * 1024 * 1024 * 1024;
// What a run holds for sure, whatever its activations are: stored weights and states as they are, and a context. No
// interval may reach below it.
double LeastBytes(const MemoryParts& parts);

// Multipliers that measured runs give the formulas; one set a framework, and one for those never seen.
struct MemoryCoefficients {
  // Of weights and optimizer states: padding and fragmentation add a little.
  double resident = 1.03;
  double gathered = 1;
  double activations = 0.9;
  double adapters = 1;
  double logits = 0.9;
  double gradients = 1;
  double temporaries = 1;
  // The share of the frozen weights that passes through twice: loading, casting, buckets.
  double transient = 0.1;
  // GiB of the CUDA context, libraries and caches.
  double context_gib = 1;
};

// The peak of a run: what is resident, plus the larger of the two phases that never meet.
struct PeakMemory {
  double resident = 0;
  double gathered = 0;
  // Gradients that persist, where passes accumulate.
  double gradients = 0;
  // The first phase: activations, adapters, logits.
  double forward_backward = 0;
  // The second phase: gradients, temporaries, transients.
  double step = 0;
  // What counts of the two phases.
  double phase = 0;
  double context = 0;

  [[nodiscard]] double total() const { return resident + gathered + gradients + phase + context; }
};

// The peak of those parts under those multipliers. Where both phases are nearly equal the sum is a little above the
// larger one.
PeakMemory PeakOf(const MemoryParts& parts, const MemoryCoefficients& coefficients);

// Bytes of a GiB.
inline constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

// Whether a run fits a GPU (docs/plan.md, "Memory"): for sure, only by its likely value, or not.
enum class MemoryFit : std::uint8_t { kFits, kTight, kNo };

// Factor on the likely value where no interval is known.
inline constexpr double kDefaultMargin = 1.10;  // on the likely value, where no interval is known
// Share of the capacity that the high end of an interval may take.
inline constexpr double kUsableShare = 0.97;  // of the capacity, against the high end of an interval

// Judges by an interval, all in bytes. A run fits if its high end leaves 3 % of the capacity. It is tight if only the
// likely value fits.
inline MemoryFit JudgeFit(double likely, double high, double capacity) {
  if (high <= kUsableShare * capacity) return MemoryFit::kFits;
  return likely <= capacity ? MemoryFit::kTight : MemoryFit::kNo;
}
// Judges a likely value without an interval, by the default margin.
inline bool FitsWithMargin(double likely, double capacity) { return kDefaultMargin * likely <= capacity; }

// The word that reports and documents use.
inline std::string_view Name(MemoryFit fit) {
  switch (fit) {
    case MemoryFit::kFits:
      return "fits";
    case MemoryFit::kTight:
      return "tight";
    case MemoryFit::kNo:
      return "no";
  }
  return "";
}

}  // namespace idleburn
