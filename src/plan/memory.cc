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
  const double one = 1 / std::max(1.0, run.DataParallel());
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
      return {run.DataParallel() > 1 ? 1 + one : 1, one, one};
  }
  return {};
}

// Bytes that a token leaves for each word of the vocabulary, with what a compiled or chunked loss saves.
double LogitBytes(const RunConfig& run) {
  constexpr double kChunks = 8;
  constexpr double kCompiled = 0.75;
  double bytes = run.logit_bytes;
  if (run.compile_loss) bytes *= kCompiled;
  if (run.chunked_loss) bytes /= kChunks;
  return bytes;
}

// The width of the MLPs that one token passes.
double MlpWidth(const ModelFacts& facts) {
  return static_cast<double>(facts.ffn > 0 ? facts.ffn : facts.expert_ffn * facts.experts_per_token);
}

// Bytes that one token leaves in one layer for the backward pass (docs/plan.md, "Memory").
double BlockBytes(const ModelFacts& facts, const RunConfig& run) {
  constexpr double kFrozen = 0.9;     // inputs of frozen matmuls are not kept for their gradient
  constexpr double kCompiled = 0.72;  // pointwise fusion
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

constexpr double kBackward = 2;  // a layer worked on backwards holds its activations and their gradients

// Bytes that a token leaves in all layers (docs/plan.md, "Memory").
double ActivationBytes(const ModelFacts& facts, const RunConfig& run) {
  const auto layers = static_cast<double>(facts.layers);
  const auto h = static_cast<double>(facts.hidden);
  const double f = MlpWidth(facts);
  // What one layer keeps where nothing is recomputed.
  const double block = BlockBytes(facts, run);
  const double wide = run.wide ? 2 : 1;  // as in the block
  switch (run.checkpointing) {
    case Checkpointing::kNone:
      return layers * block;
    // A part of each layer is kept, and the rest is computed again, one layer at a time.
    case Checkpointing::kSelective:
      return layers * wide * (4 * h + 4 * QueryWidth(facts) + 2 * KvWidth(facts) + 2 * f) + kBackward * block;
    // Only the input of each layer is kept, in host memory if activations are offloaded.
    case Checkpointing::kWholeLayers:
      return (run.offload_activations ? 0 : layers * wide * 2 * h) + kBackward * block;
  }
  return layers * block;
}

// Weights that pass through a GPU whole while they are used.
double GatheredBytes(const ParamCounts& counts, const RunConfig& run, double body_bytes, double vocab_bytes) {
  if (run.DataParallel() <= 1) return 0;
  if (run.sharding != Sharding::kZero3) return 0;
  // At least two layers, more where DeepSpeed is told to keep parameters live.
  const double layers = std::max(kGatheredLayers * counts.layer, std::min(run.live_parameters, counts.body));
  return (layers * body_bytes + (counts.embedding + counts.head) * vocab_bytes) / run.tensor_parallel;
}

// A little above the larger of two numbers where they are close, and the larger one where they are not.
double SmoothPeak(double a, double b) {
  const double larger = std::max(a, b);
  if (larger <= 0) return 0;
  return larger * std::pow(std::pow(a / larger, kPhasePower) + std::pow(b / larger, kPhasePower), 1 / kPhasePower);
}

}  // namespace

MemoryParts PartsOf(const ModelFacts& facts, const RunConfig& run) {
  const ParamCounts counts = CountParams(facts);
  const NumberBytes& bytes = run.bytes;
  const Shares shares = SharesOf(run);
  const bool full = run.method == TuneMethod::kAllWeights;
  const double vocab = counts.embedding + counts.head;
  const double trained = run.TrainedOf(counts.total());
  const double model_split = run.tensor_parallel * run.pipeline_parallel;
  // Offloaded weights and states take no memory of the GPU.
  const double stored = run.offload ? 0 : 1 / model_split;

  MemoryParts parts;
  if (!full) parts.frozen = (counts.body * bytes.frozen + vocab * bytes.frozen_vocab) * shares.weights * stored;
  parts.weights = parts.frozen + trained * bytes.weight * shares.weights * stored;
  parts.optimizer = trained * (bytes.master + bytes.optimizer) * shares.optimizer * stored;
  const double whole = run.optimizer_in_backward ? counts.layer : trained;  // one layer's gradients at a time
  parts.gradients = whole * bytes.gradient * shares.gradients * stored;
  parts.temporaries = std::min(whole * shares.gradients, run.step_group) * bytes.temporary * stored;
  const double used = run.wide ? 4 : 2;  // bytes of a weight in the forward pass
  parts.gathered =
      full ? GatheredBytes(counts, run, used, used) : GatheredBytes(counts, run, bytes.frozen, bytes.frozen_vocab);

  // Tensor parallelism gathers a layer's inputs, and their gradient, on every GPU.
  const double gathered_inputs = run.tensor_parallel > 1 ? 6 * static_cast<double>(facts.hidden) : 0;
  if (run.method == TuneMethod::kQlora) parts.gathered += 2 * counts.layer / model_split;  // unpacked while it is used

  const double tokens = run.MicroTokens();
  const double stages = std::min(run.pipeline_parallel, run.accumulation);  // micro-batches in flight (1F1B)
  parts.activations = tokens * ActivationBytes(facts, run) * stages / model_split + tokens * gathered_inputs;
  // With full checkpointing only one layer's adapters hold their inputs at a time.
  parts.adapters = tokens * run.adapter_inputs /
                       (run.checkpointing == Checkpointing::kWholeLayers ? static_cast<double>(facts.layers) : 1.0) +
                   run.adapter_deltas;
  parts.logits = tokens * static_cast<double>(facts.vocab) * LogitBytes(run) / run.tensor_parallel;
  parts.accumulates = run.accumulation > 1 && run.gradients_persist && !run.optimizer_in_backward;
  parts.on_device = run.metric == MemoryMetric::kDevice;
  return parts;
}

PeakMemory PeakOf(const MemoryParts& parts, const MemoryCoefficients& c) {
  PeakMemory peak;
  peak.resident = c.resident * (parts.weights + parts.optimizer);
  peak.gathered = c.gathered * parts.gathered;
  peak.forward_backward = c.activations * parts.activations + c.adapters * parts.adapters + c.logits * parts.logits;
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
