#include "plan/step_time.h"

#include <algorithm>
#include <cmath>

#include "plan/flops.h"

namespace idleburn {
namespace {

constexpr double kGiga = 1e9;
constexpr double kLaunchSeconds = 5e-6;
constexpr double kLaunchesPerLayer = 30;
constexpr double kMaximumPower = 4;  // planning.md section 3.2

constexpr std::array<std::string_view, kTimeTermCount> kNames = {
    "linear",        "attention",    "elementwise", "vocabulary", "sharding",   "cross_node", "optimizer", "launches",
    "pass_overhead", "small_matmul", "shard_hooks", "adapters",   "dequantize", "experts",    "bubble",    "tensor"};

double LinkBytes(const RunConfig& run, const GpuRate& gpu) {
  return (run.nodes > 1 ? std::min(gpu.link_gbs, kNodeLinkGbs) : gpu.link_gbs) * kGiga;
}

// Bytes of weights that the ranks exchange in one pass.
double ShardingBytes(const ParamCounts& counts, const RunConfig& run) {
  const double ranks = run.DataParallel();
  if (ranks <= 1 || run.sharding == Sharding::kNone) return 0;
  const bool full = run.method == TuneMethod::kAllWeights;
  const double weights =
      full ? 2 * counts.total()
           : counts.body * run.bytes.frozen + (counts.embedding + counts.head) * run.bytes.frozen_vocab;
  double passes = run.sharding == Sharding::kZero3 ? 2 : run.sharding == Sharding::kGathered ? 1 : 0;
  if (run.checkpointing == Checkpointing::kWholeLayers && run.sharding == Sharding::kZero3) passes += 1;
  return weights * (passes + (full ? 1 : 0)) * (ranks - 1) / ranks / (run.tensor_parallel * run.pipeline_parallel);
}

// Numbers that enter and leave the layers that have adapters, per token; of LoRA on all linear layers, by its size.
double AdapterWidths(const RunConfig& run) {
  if (run.method == TuneMethod::kAllWeights || run.adapter_rank <= 0) return 0;
  return run.trained / run.adapter_rank;
}

bool IsHostTerm(std::size_t term) {
  return term == static_cast<std::size_t>(TimeTerm::kLaunches) ||
         term == static_cast<std::size_t>(TimeTerm::kShardHooks);
}

}  // namespace

std::string_view Name(TimeTerm term) { return kNames[static_cast<std::size_t>(term)]; }

TimeTerms TermsOf(const ModelFacts& facts, const RunConfig& run, const GpuRate& gpu) {
  const TokenFlops flops = FlopsOf(facts, run);
  const ParamCounts counts = CountParams(facts);
  const bool full_checkpointing = run.checkpointing == Checkpointing::kWholeLayers;
  const MatmulFormat format = run.fp4 ? MatmulFormat::kFp4 : run.fp8 ? MatmulFormat::kFp8 : MatmulFormat::kHalf;
  const double half = PeakFlops(gpu, MatmulFormat::kHalf);
  const double bandwidth = gpu.bandwidth_gbs * kGiga;
  const double split = run.tensor_parallel * run.pipeline_parallel * run.context_parallel;
  const auto layers = static_cast<double>(facts.layers);
  const auto h = static_cast<double>(facts.hidden);
  const double sequence = run.mean_sequence > 0 ? run.mean_sequence : run.sequence;
  const double tokens = std::max(1.0, run.micro_batch * sequence);  // of one pass of a model replica
  const double trained = run.method == TuneMethod::kAllWeights ? counts.total() : run.trained + run.trained_copy;

  TimeTerms terms{};
  const auto set = [&terms](TimeTerm term, double seconds) { terms[static_cast<std::size_t>(term)] = seconds; };
  const double linear = (flops.Linear() + flops.recompute) / PeakFlops(gpu, format);
  set(TimeTerm::kLinear, linear);
  set(TimeTerm::kAttention, flops.attention * (full_checkpointing ? 4.5 : 3.5) / 2 / half);
  set(TimeTerm::kElementwise, 100 * layers * h * (full_checkpointing ? 1.6 : 1) / bandwidth);
  set(TimeTerm::kVocabulary, 16 * static_cast<double>(facts.vocab) / bandwidth);
  set(TimeTerm::kSharding, ShardingBytes(counts, run) / LinkBytes(run, gpu) / tokens * split);
  set(TimeTerm::kCrossNode, std::log2(std::max(1.0, run.nodes)) * linear);
  set(TimeTerm::kOptimizer, 30 * trained / run.gpus / bandwidth / (tokens * std::max(1.0, run.accumulation)) * split);
  const double launches = kLaunchesPerLayer * layers * kLaunchSeconds * (full_checkpointing ? 1.5 : 1) / tokens;
  set(TimeTerm::kLaunches, launches);
  set(TimeTerm::kPassOverhead, launches);
  if (run.sharding == Sharding::kZero3) set(TimeTerm::kShardHooks, launches);
  set(TimeTerm::kAdapters, AdapterWidths(run) * 12 / bandwidth);
  set(TimeTerm::kSmallMatmul, linear * 1024 / h);
  if (run.method == TuneMethod::kQlora) set(TimeTerm::kDequantize, 27 * counts.body * 3 / bandwidth / tokens);
  if (facts.experts > 0) {
    const double sparse = layers - static_cast<double>(facts.dense_layers);
    set(TimeTerm::kExperts, 8 * sparse * static_cast<double>(facts.experts_per_token) * h / (gpu.link_gbs * kGiga));
  }
  const double passes = std::max(1.0, run.accumulation);
  set(TimeTerm::kBubble, linear * (run.pipeline_parallel - 1) / (run.virtual_stages * passes));
  if (run.tensor_parallel > 1) set(TimeTerm::kTensor, 16 * layers * h / (gpu.link_gbs * kGiga));
  return terms;
}

double SecondsPerToken(const TimeTerms& terms, std::span<const double> coefficients) {
  double device = 0;
  double host = 0;
  for (std::size_t i = 0; i < kTimeTermCount; ++i) (IsHostTerm(i) ? host : device) += coefficients[i] * terms[i];
  const double larger = std::max(device, host);
  if (larger <= 0) return 0;
  return larger *
         std::pow(std::pow(device / larger, kMaximumPower) + std::pow(host / larger, kMaximumPower), 1 / kMaximumPower);
}

}  // namespace idleburn
