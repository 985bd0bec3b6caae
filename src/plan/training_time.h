#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/work_unit.h"
#include "plan/gpu_rate.h"
#include "plan/model_facts.h"
#include "plan/run_config.h"

namespace idleburn {

// How long training takes. First come the floating-point operations of a token, then what a token costs one GPU in
// seconds, then the plain arithmetic from that rate to hours, GPU-hours and caps. Only the middle step has a model of
// the hardware; the arithmetic around it is exact, so a stated or measured throughput can replace the model without any
// change elsewhere.

// Floating-point operations of one trained token, a multiply-add being two: forward 2 N, backward 2 N for the
// inputs and 2 N for the weights that are trained, N being the parameters of the layers and the head.
struct TokenFlops {
  // Linear layers and the head; the embedding's look-up is free.
  double forward = 0;
  double backward_input = 0;
  double backward_weight = 0;
  // Operations of checkpointed layers that are done again.
  double recompute = 0;
  // Forward only, the causal mask not halving it: 4 L h s.
  double attention = 0;

  [[nodiscard]] double Linear() const { return forward + backward_input + backward_weight; }
  // FLOPs of the model: no recompute, and attention forward and backward. `halved` counts only the causal half of
  // attention, as some publications do.
  [[nodiscard]] double ModelFlops(bool halved) const { return Linear() + 3 * attention / (halved ? 2 : 1); }
};

// Counts the operations of one token of that run. Attention follows the mean length of its sequences.
TokenFlops FlopsOf(const ModelFacts& facts, const RunConfig& run);

// The rules of thumb for N parameters, shown beside the exact count: 6 N for full training, 4 N for LoRA, and 2 N more
// with full checkpointing.
double RuleOfThumbFlops(double params, TuneMethod method, bool checkpointing);

// What a token costs one GPU, each as seconds if the hardware gave its peak (docs/plan.md, "Time").
enum class TimeTerm {
  // Matmuls of the layers and the head.
  kLinear,
  // Attention's scores and values, forward and backward.
  kAttention,
  // Traffic of norms, activations and residuals.
  kElementwise,
  // Traffic of logits and loss.
  kVocabulary,
  // Gathering and reducing shards over the links, as far as the GPU waits for it.
  kSharding,
  // What grows with the number of machines.
  kCrossNode,
  // Traffic of the optimizer step, spread over its tokens.
  kOptimizer,
  // Kernel launches by the host, spread over a pass's tokens. The GPU waits where they take longer.
  kLaunches,
  // The same, where the GPU waits anyway: small kernels, synchronisation.
  kPassOverhead,
  // Matmuls that are too narrow to fill the GPU.
  kSmallMatmul,
  // Work of the host to gather shards layer by layer.
  kShardHooks,
  // Traffic of adapters beside frozen layers.
  kAdapters,
  // Weight-sized matrices that adapters build in every pass.
  kDeltas,
  // Unpacking quantised weights in every pass.
  kDequantize,
  // Tokens sent to experts on other GPUs.
  kExperts,
  // Traffic of sorting tokens to experts and back.
  kRouting,
  // Work of the host for routing and for many small matmuls.
  kExpertLaunches,
  // Activations, keys and values exchanged within a layer.
  kTensor,
  // Shards over the links, where they take longer than all else.
  kExchange,
  // Pipeline ranks that wait, as a share of all that a pass takes.
  kBubble,
  // Work of the host for adapters beside every layer.
  kAdapterLaunches,
  // Matmuls of checkpointed layers that are done again.
  kRecompute,
  kCount,
};

// How many terms there are.
inline constexpr std::size_t kTimeTermCount = static_cast<std::size_t>(TimeTerm::kCount);
// Seconds of one token and GPU by term, in the order of TimeTerm.
using TimeTerms = std::array<double, kTimeTermCount>;

// The term's name in data/plan/coefficients.csv.
std::string_view Name(TimeTerm term);

// The terms of a run on a GPU, each as seconds at the hardware's best. A run that lacks a thing, such as experts, has 0
// there.
TimeTerms TermsOf(const ModelFacts& facts, const RunConfig& run, const GpuRate& gpu);

// Seconds per token and GPU. The GPU, the host that launches its kernels and the links work at once, so the longest of
// the three counts, as a smooth maximum. The pipeline's bubble makes all of it longer. `coefficients` holds one
// multiplier a term.
double SecondsPerToken(const TimeTerms& terms, std::span<const double> coefficients);

// The arithmetic of a run, without any model of the hardware.

// Sequences of one optimizer step: micro-batch x accumulation x data-parallel ranks.
double EffectiveBatch(double micro_batch, double accumulation, double data_parallel);

// Work and rate of a run in the units that people use: samples, minutes.
struct RunLength {
  double steps_per_epoch = 0;
  double minutes_per_epoch = 0;
  // Hours of all epochs, on the wall.
  double hours = 0;
  double gpu_hours = 0;
  double samples_per_s = 0;
  // Tokens of all GPUs.
  double tokens_per_s = 0;
};

// How long a run takes at a rate in samples a minute of all GPUs. Every argument is above 0.
RunLength LengthOf(double samples, double epochs, double sequence, double effective_batch, double samples_per_min,
                   double gpus);

// A cap in GPU-hours: what fits in it.
struct CapFacts {
  double gpu_hours_per_epoch = 0;
  // The share of the cap that an epoch takes.
  double share_per_epoch = 0;
  // Epochs that fit, exactly, and those that can be finished.
  double epochs = 0;
  double whole_epochs = 0;
  // The rate of all GPUs at which one epoch just keeps the cap.
  double samples_per_min = 0;
};
// `overhead`: time that is not training, as a share of it.
CapFacts CapOf(double cap_gpu_hours, double samples, double samples_per_min, double gpus, double overhead);

// What a change of utilisation does to a step.
struct UtilizationChange {
  double busy_before_ms = 0;
  double busy_after_ms = 0;
  // The step if the busy time stayed the same.
  double implied_ms = 0;
  double implied_speedup = 0;
  double speedup = 0;  // measured
  double saved = 0;    // share of the time, and of its cost, that the measured step saves
};

// Compares two steps by how busy the GPU was (a share) and how long they took (ms).
UtilizationChange ChangeOf(double share_before, double ms_before, double share_after, double ms_after);

// The step that a target utilisation takes, if the busy time stays the same.
struct UtilizationTarget {
  double busy_ms = 0;
  double step_ms = 0;
  double speedup = 0;
  double saved = 0;
};

// The step at a target share, from the share and the milliseconds of today.
UtilizationTarget TargetOf(double share, double ms, double target_share);

// Whether a stated rate can be true. Both sides are FLOP/s of one GPU (docs/plan.md, "Time").
enum class Plausibility { kPlausible, kOptimistic, kImpossible };
// A rate against what the GPU can reach.
struct RooflineCheck {
  double implied_flops = 0;
  double ceiling_flops = 0;
  Plausibility verdict = Plausibility::kPlausible;
};

// Judges a rate in tokens a second of one GPU. Above the ceiling it is impossible; above 0.6 of it, optimistic.
RooflineCheck CheckRoofline(double tokens_per_s_per_gpu, double flops_per_token, double ceiling_flops);

// How many tokens a step and a sample are; absent where it is not known.
struct TokenScale {
  std::optional<double> step;
  std::optional<double> sample;
};

// The scale of a run with a known batch and sequence.
TokenScale ScaleOf(const RunConfig& run);

// Tokens of work, by the finest unit that it was counted in. Absent where it cannot be said in tokens.
std::optional<double> TokensOf(const WorkCount& work, const TokenScale& scale);

}  // namespace idleburn
