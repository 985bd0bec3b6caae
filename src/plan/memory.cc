#include "plan/memory.h"

#include <algorithm>
#include <cmath>

namespace idleburn {
namespace {

constexpr double kGatheredLayers = 2;  // the one at work and the one prefetched
constexpr double kMaximumPower = 3;    // of the smooth maximum: allocators never free all between two phases

// Shares of a tensor that stay on one GPU.
struct Shares {
  double weights = 1;
  double gradients = 1;
  double optimizer = 1;
};

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
    case Sharding::kGathered:
      return {run.DataParallel() > 1 ? 1 + one : 1, one, one};
  }
  return {};
}

double LogitBytes(const RunConfig& run) {
  constexpr double kChunks = 8;
  constexpr double kCompiled = 0.75;
  double bytes = run.logit_bytes;
  if (run.compile_loss) bytes *= kCompiled;
  if (run.chunked_loss) bytes /= kChunks;
  return bytes;
}

constexpr double kBackward = 2;  // a layer worked on backwards holds its activations and their gradients

// Bytes that a token leaves in all layers (docs/plan.md, "Memory").
double ActivationBytes(const ModelFacts& facts, const RunConfig& run) {
  const auto layers = static_cast<double>(facts.layers);
  const auto h = static_cast<double>(facts.hidden);
  const auto f = static_cast<double>(facts.ffn > 0 ? facts.ffn : facts.expert_ffn * facts.experts_per_token);
  const double block = BlockBytes(facts, run);
  const double wide = run.wide ? 2 : 1;  // as in the block
  switch (run.checkpointing) {
    case Checkpointing::kNone:
      return layers * block;
    case Checkpointing::kSelective:
      return layers * wide * (4 * h + 4 * QueryWidth(facts) + 2 * KvWidth(facts) + 2 * f) + kBackward * block;
    case Checkpointing::kWholeLayers:
      return (run.offload_activations ? 0 : layers * wide * 2 * h) + kBackward * block;
  }
  return layers * block;
}

// Weights that pass through a GPU whole while they are used.
double GatheredBytes(const ParamCounts& counts, const RunConfig& run, double body_bytes, double vocab_bytes) {
  if (run.DataParallel() <= 1) return 0;
  if (run.sharding != Sharding::kZero3) return 0;
  const double layers = std::max(kGatheredLayers * counts.layer, std::min(run.live_parameters, counts.body));
  return (layers * body_bytes + (counts.embedding + counts.head) * vocab_bytes) / run.tensor_parallel;
}

double SmoothMaximum(double a, double b) {
  const double larger = std::max(a, b);
  if (larger <= 0) return 0;
  return larger *
         std::pow(std::pow(a / larger, kMaximumPower) + std::pow(b / larger, kMaximumPower), 1 / kMaximumPower);
}

}  // namespace

double BlockBytes(const ModelFacts& facts, const RunConfig& run) {
  constexpr double kFrozen = 0.9;     // inputs of frozen matmuls are not kept for their gradient
  constexpr double kCompiled = 0.72;  // pointwise fusion
  const auto h = static_cast<double>(facts.hidden);
  const double k = KvWidth(facts) / h;
  const double q = QueryWidth(facts) / h;
  const auto f = static_cast<double>(facts.ffn > 0 ? facts.ffn : facts.expert_ffn * facts.experts_per_token);
  double bytes = facts.gated ? (14 + 2 * q + 4 * k + 8) * h + 8 * f : (10 + 2 * q + 4 * k) * h + 4 * f;
  if (!run.flash_attention) bytes += 5 * static_cast<double>(facts.heads) * run.sequence;
  if (run.method != TuneMethod::kAllWeights) bytes *= kFrozen;
  if (run.compile) bytes *= kCompiled;
  if (run.wide) bytes *= 2;
  return bytes;
}

MemoryParts PartsOf(const ModelFacts& facts, const RunConfig& run) {
  const ParamCounts counts = CountParams(facts);
  const NumberBytes& bytes = run.bytes;
  const Shares shares = SharesOf(run);
  const bool full = run.method == TuneMethod::kAllWeights;
  const double vocab = counts.embedding + counts.head;
  const double trained = full ? counts.total() : run.trained + run.trained_copy;
  const double model_split = run.tensor_parallel * run.pipeline_parallel;
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
  if (parts.accumulates) {
    peak.gradients = gradients;
  } else {
    peak.step += gradients;
  }
  peak.phase = SmoothMaximum(peak.forward_backward, peak.step);
  peak.context = parts.on_device ? c.context_gib * kGib : 0;
  return peak;
}

}  // namespace idleburn
