#include "plan/memory.h"

#include <algorithm>
#include <cmath>

namespace idleburn {

// The formulas of memory. They count what every program must keep, as papers and frameworks describe it; what programs
// waste on top is left to the multipliers. Numbers without a source here are engineering values that the fit may
// correct.

namespace {

constexpr double kGatheredLayers = 2;  // the one at work and the one prefetched
constexpr double kPhasePower = 3;      // of the smooth maximum: allocators never free all between two phases

// The shares of a tensor that stay on one GPU.
struct Shares {
  double weights = 1;
  double gradients = 1;
  double optimizer = 1;
};

// What each GPU keeps under a way of sharding.
Shares SharesOf(const RunConfig& run) {
  const double one = 1 / std::max(1.0, run.ShardRanks());
  switch (run.sharding) {
    case Sharding::kNone:
      return {};
    case Sharding::kZero1:
      return {1, 1, one};
    case Sharding::kZero2:
      return {1, one, one};
    case Sharding::kZero3:
      return {one, one, one};
    // Whole weights stay beside the shard through forward and backward.
    case Sharding::kGathered:
      return {run.ShardRanks() > 1 ? 1 + one : 1, one, one};
  }
  return {};
}

// Bytes of logits, their copies and the loss for one pass of so many tokens (docs/plan.md, "Memory").
double LossBytes(const ModelFacts& facts, const RunConfig& run, double tokens) {
  constexpr double kChunks = 8;
  constexpr double kCompiled = 0.75;
  const auto vocab = static_cast<double>(facts.vocab);
  const auto h = static_cast<double>(facts.hidden);
  if (run.fused_loss && vocab > h) {
    // Rows that the kernel takes at a time, 16 bits each, and the gradient of the head's input (Liger).
    const double rows = std::exp2(std::ceil(std::log2(std::max(1.0, tokens / std::ceil(vocab / h)))));
    return std::min(rows, tokens) * vocab * 2 + tokens * h * 2;
  }
  double bytes = run.logit_bytes;
  if (run.compile_loss) bytes *= kCompiled;
  if (run.chunked_loss) bytes /= kChunks;
  return tokens * vocab * bytes;
}

// The width of the MLPs that one token passes, the wider of the two kinds of layer.
double MlpWidth(const ModelFacts& facts) {
  return static_cast<double>(std::max(facts.ffn, facts.expert_ffn * facts.experts_per_token + facts.shared_ffn));
}

// Bytes that one token leaves in one layer for the backward pass (docs/plan.md, "Memory").
double BlockBytes(const ModelFacts& facts, const RunConfig& run) {
  constexpr double kFrozen = 0.9;     // inputs of frozen matmuls are not kept for their gradient
  constexpr double kCompiled = 0.72;  // pointwise fusion
  // Only the model's parameter count is known.
  if (facts.kind == ModelKind::kCountOnly) return 0;
  const auto h = static_cast<double>(facts.hidden);
  const double k = KvWidth(facts) / h;
  const double q = QueryWidth(facts) / h;
  const double f = MlpWidth(facts);
  // Bytes of 16-bit numbers by width: inputs of norms, matmuls and activations, with queries, keys and values as wide
  // as this model has them. Two-matrix MLPs keep fewer.
  double bytes = facts.gated ? (14 + 2 * q + 4 * k + 8) * h + 8 * f : (10 + 2 * q + 4 * k) * h + 4 * f;
  // Without flash attention the scores and their softmax are stored, a number for each pair of positions.
  if (!run.flash_attention) bytes += 5 * static_cast<double>(facts.heads) * run.sequence;
  if (run.method != TuneMethod::kAllWeights) bytes *= kFrozen;
  if (run.compile) bytes *= kCompiled;
  // Numbers of 32 bits throughout.
  if (run.wide) bytes *= 2;
  return bytes;
}

constexpr double kBackward = 1;  // a layer worked on backwards holds its activations and their gradients

// Bytes that a token leaves in all layers until their backward pass (docs/plan.md, "Memory").
double StoredBytes(const ModelFacts& facts, const RunConfig& run) {
  const auto layers = static_cast<double>(facts.layers);
  const auto h = static_cast<double>(facts.hidden);
  const double f = MlpWidth(facts);
  const double wide = run.wide ? 2 : 1;  // as in the block
  switch (run.checkpointing) {
    case Checkpointing::kNone:
      return layers * BlockBytes(facts, run);
    // A part of each layer is kept, and the rest is computed again, one layer at a time.
    case Checkpointing::kSelective:
      return layers * wide * (4 * h + 4 * QueryWidth(facts) + 2 * KvWidth(facts) + 2 * f) +
             kBackward * BlockBytes(facts, run);
    // Only the input of each layer is kept, in host memory if activations are offloaded (Unsloth, torchtune).
    case Checkpointing::kWholeLayers:
      return run.offload_activations ? 0 : layers * wide * 2 * h;
  }
  return 0;
}

// Bytes of a token in the layer that is computed again. The loss is done by then, so it never meets the logits.
double RecomputedBytes(const ModelFacts& facts, const RunConfig& run) {
  return run.checkpointing == Checkpointing::kWholeLayers ? kBackward * BlockBytes(facts, run) : 0;
}

// Parameters of one GPU before anything is shared out: of its stage, its part of every matrix, and its experts.
struct OwnParameters {
  double body = 0;
  // Of a pipeline's fullest stage: the first has the embedding, the last the head.
  double vocabulary = 0;
  double other = 0;
  double layer = 0;

  [[nodiscard]] double total() const { return body + vocabulary + other; }
};

OwnParameters OwnOf(const ParamCounts& counts, const RunConfig& run) {
  const double away = counts.experts * (1 - 1 / std::max(1.0, run.expert_parallel));
  const double split = run.tensor_parallel * run.pipeline_parallel;
  const bool stages = run.pipeline_parallel > 1;
  OwnParameters own;
  own.body = (counts.body - away) / split;
  own.vocabulary =
      (stages ? std::max(counts.embedding, counts.head) : counts.embedding + counts.head) / run.tensor_parallel;
  own.other = counts.other / run.pipeline_parallel;
  own.layer = (counts.layer - (counts.body > 0 ? away / counts.body * counts.layer : 0)) / run.tensor_parallel;
  return own;
}

// Weights that pass through a GPU whole while they are used.
double GatheredBytes(const OwnParameters& own, const RunConfig& run, double body_bytes, double vocab_bytes) {
  if (run.ShardRanks() <= 1 || run.sharding != Sharding::kZero3) return 0;
  // At least two layers, more where DeepSpeed is told to keep parameters live. A pipeline's stage stays gathered from
  // one micro-batch to the next.
  const double some = std::max(kGatheredLayers * own.layer, std::min(run.live_parameters, own.body));
  const double layers = run.pipeline_parallel > 1 ? own.body : std::min(some, own.body);
  return layers * body_bytes + own.vocabulary * vocab_bytes;
}

// A little above the larger of two numbers where they are close, and the larger one where they are not.
double SmoothPeak(double a, double b) {
  const double larger = std::max(a, b);
  if (larger <= 0) return 0;
  return larger * std::pow(std::pow(a / larger, kPhasePower) + std::pow(b / larger, kPhasePower), 1 / kPhasePower);
}

}  // namespace

MemoryParts PartsOf(const ModelFacts& facts, const RunConfig& run) {
  const OwnParameters own = OwnOf(CountParams(facts), run);
  const NumberBytes& bytes = run.bytes;
  const Shares shares = SharesOf(run);
  const bool full = run.method == TuneMethod::kAllWeights;
  const double model_split = run.tensor_parallel * run.pipeline_parallel;
  const double trained = full ? own.total() : run.TrainedOf(0) / model_split;
  // Offloaded weights and states take no memory of the GPU.
  const double on_gpu = run.offload ? 0 : 1;

  MemoryParts parts;
  if (!full) {
    const double frozen = own.body * bytes.frozen + (own.vocabulary + own.other) * bytes.frozen_vocab;
    parts.frozen = frozen * shares.weights * on_gpu;
  }
  parts.weights = parts.frozen + trained * bytes.weight * shares.weights * on_gpu;
  parts.optimizer = trained * (bytes.master + bytes.optimizer) * shares.optimizer * on_gpu;
  parts.paged = run.paged_optimizer;
  const double whole = run.optimizer_in_backward ? own.layer : trained;  // one layer's gradients at a time
  // A pipeline adds up the gradients of its micro-batches before it shares them out.
  const bool unshared = full && run.pipeline_parallel > 1 && run.sharding == Sharding::kZero3 && run.ShardRanks() > 1;
  parts.gradients = whole * bytes.gradient * (unshared ? 1 : shares.gradients) * on_gpu;
  parts.temporaries = std::min(whole * shares.gradients, run.step_group) * bytes.temporary * on_gpu;
  const double used = run.wide ? 4 : 2;  // bytes of a weight in the forward pass
  parts.gathered =
      full ? GatheredBytes(own, run, used, used) : GatheredBytes(own, run, bytes.frozen, bytes.frozen_vocab);
  if (run.method == TuneMethod::kQlora) parts.gathered += 2 * own.layer;  // unpacked while it is used

  // Tensor parallelism gathers a layer's inputs, and their gradient, on every GPU.
  const double gathered_inputs = run.tensor_parallel > 1 ? 6 * static_cast<double>(facts.hidden) : 0;
  const double tokens = run.MicroTokens();
  // Micro-batches in flight on the first stage (1F1B); interleaved stages hold a few more (Megatron-LM).
  const double pp = run.pipeline_parallel;
  const double interleaved = run.virtual_stages > 1 ? 1 + (pp - 1) / (pp * run.virtual_stages) : 1;
  const double in_flight = std::min(pp, run.accumulation) * interleaved;
  const double stored = tokens * StoredBytes(facts, run) / model_split;
  parts.recomputed = tokens * (RecomputedBytes(facts, run) / run.tensor_parallel + gathered_inputs);
  parts.logits = LossBytes(facts, run, tokens) / run.tensor_parallel;
  // The first stage holds the most micro-batches, the last one has the logits.
  const bool last = pp > 1 && stored + std::max(parts.recomputed, parts.logits) > stored * in_flight + parts.recomputed;
  parts.activations = last ? stored : stored * in_flight;
  if (pp > 1 && !last) parts.logits = 0;
  // With full checkpointing only one layer's adapters hold their inputs at a time.
  parts.adapters =
      tokens * run.adapter_inputs /
          (run.checkpointing == Checkpointing::kWholeLayers ? std::max(1.0, static_cast<double>(facts.layers)) : 1.0) +
      run.adapter_deltas;
  parts.accumulates = run.accumulation > 1 && run.gradients_persist && !run.optimizer_in_backward;
  parts.on_device = run.metric == MemoryMetric::kDevice;
  return parts;
}

double LeastBytes(const MemoryParts& parts) {
  return parts.weights + (parts.paged ? 0 : parts.optimizer) + (parts.on_device ? kLeastContext : 0);
}

PeakMemory PeakOf(const MemoryParts& parts, const MemoryCoefficients& c) {
  PeakMemory peak;
  peak.resident = c.resident * (parts.weights + parts.optimizer);
  peak.gathered = c.gathered * parts.gathered;
  peak.forward_backward =
      c.activations * (parts.activations + parts.recomputed) + c.adapters * parts.adapters + c.logits * parts.logits;
  const double gradients = c.gradients * parts.gradients;
  peak.step = c.temporaries * parts.temporaries + c.transient * parts.frozen;
  // Gradients that persist are resident; others meet the optimizer step only.
  if (parts.accumulates) {
    peak.gradients = gradients;
  } else {
    peak.step += gradients;
  }
  peak.phase = SmoothPeak(peak.forward_backward, peak.step);
  peak.context = parts.on_device ? c.context_gib * kGib : 0;
  return peak;
}

}  // namespace idleburn
