#include "plan/step_time.h"

#include <algorithm>
#include <cmath>

#include "plan/flops.h"

namespace idleburn {
namespace {

constexpr double kGiga = 1e9;
constexpr double kLaunchSeconds = 5e-6;
constexpr double kLaunchesPerLayer = 30;
constexpr double kMaximumPower = 4;  // of the p-norm that stands for the longest of three: engineering value
constexpr double kFused = 0.72;      // of the traffic of norms and activations, where a compiler fuses them

constexpr std::array<std::string_view, kTimeTermCount> kNames = {
    "linear",   "attention",     "elementwise",     "vocabulary",  "sharding", "cross_node", "optimizer",
    "launches", "pass_overhead", "small_matmul",    "shard_hooks", "adapters", "deltas",     "dequantize",
    "experts",  "routing",       "expert_launches", "tensor",      "exchange", "bubble",     "adapter_launches"};

// Which of the three things that run at once a term is work of.
enum class Worker { kDevice, kHost, kLinks, kAll };

constexpr Worker WorkerOf(std::size_t term) {
  switch (static_cast<TimeTerm>(term)) {
    case TimeTerm::kLaunches:
    case TimeTerm::kShardHooks:
    case TimeTerm::kExpertLaunches:
    case TimeTerm::kAdapterLaunches:
      return Worker::kHost;
    case TimeTerm::kExchange:
      return Worker::kLinks;
    case TimeTerm::kBubble:
      return Worker::kAll;
    default:
      return Worker::kDevice;
  }
}

// Bytes a second that a GPU gets out of the links which join `ranks` GPUs.
double LinkBytes(const RunConfig& run, const GpuRate& gpu, double ranks) {
  const bool leaves = run.nodes > 1 && ranks > run.gpus / run.nodes;
  return (leaves ? std::min(gpu.link_gbs, kNodeLinkGbs) : gpu.link_gbs) * kGiga;
}

// Parameters that a GPU has a part in: of the experts only its own.
double ParametersAt(const ModelFacts& facts, const ParamCounts& counts, const RunConfig& run) {
  if (facts.experts <= facts.experts_per_token || run.expert_parallel <= 1) return counts.total();
  const auto all = static_cast<double>(facts.experts);
  const double unused = counts.body - counts.active_body;  // by one token: the experts that it does not pass
  const double experts = unused * all / (all - static_cast<double>(facts.experts_per_token));
  return counts.total() - experts * (1 - 1 / run.expert_parallel);
}

// Bytes of weights and gradients that the ranks exchange for one pass.
double ShardingBytes(const ModelFacts& facts, const ParamCounts& counts, const RunConfig& run) {
  const double ranks = run.DataParallel();
  if (ranks <= 1) return 0;
  const bool full = run.method == TuneMethod::kAllWeights;
  const double own = ParametersAt(facts, counts, run);
  const double trained = 2 * (full ? own : run.trained + run.trained_copy);
  const double weights =
      full ? 2 * own : counts.body * run.bytes.frozen + (counts.embedding + counts.head) * run.bytes.frozen_vocab;
  double gathers = run.sharding == Sharding::kZero3 ? 2 : run.sharding == Sharding::kGathered ? 1 : 0;
  if (run.checkpointing == Checkpointing::kWholeLayers && run.sharding == Sharding::kZero3) gathers += 1;
  // Without sharded gradients, they and the weights pass once a step.
  const double reduces = gathers > 0 ? trained : 2 * trained / std::max(1.0, run.accumulation);
  return (weights * gathers + reduces) * (ranks - 1) / ranks / (run.tensor_parallel * run.pipeline_parallel);
}

// Numbers that enter and leave the layers that have adapters, per token; of LoRA on all linear layers, by its size.
double AdapterWidths(const RunConfig& run) {
  if (run.method == TuneMethod::kAllWeights || run.adapter_rank <= 0) return 0;
  return run.trained / run.adapter_rank;
}

double SmoothMaximum(const std::array<double, 3>& values) {
  const double larger = *std::max_element(values.begin(), values.end());
  if (larger <= 0) return 0;
  double sum = 0;
  for (const double value : values) sum += std::pow(value / larger, kMaximumPower);
  return larger * std::pow(sum, 1 / kMaximumPower);
}

}  // namespace

std::string_view Name(TimeTerm term) { return kNames[static_cast<std::size_t>(term)]; }

TimeTerms TermsOf(const ModelFacts& facts, const RunConfig& run, const GpuRate& gpu) {
  const TokenFlops flops = FlopsOf(facts, run);
  const ParamCounts counts = CountParams(facts);
  const bool full_checkpointing = run.checkpointing == Checkpointing::kWholeLayers;
  const MatmulFormat half_or_wide = run.wide ? MatmulFormat::kWide : MatmulFormat::kHalf;
  const MatmulFormat format = run.fp4 ? MatmulFormat::kFp4 : run.fp8 ? MatmulFormat::kFp8 : half_or_wide;
  const double half = SustainedFlops(gpu, half_or_wide);
  const double bandwidth = gpu.bandwidth_gbs * kGiga;
  const double split = run.tensor_parallel * run.pipeline_parallel * run.context_parallel;
  const auto layers = static_cast<double>(facts.layers);
  const auto h = static_cast<double>(facts.hidden);
  const double sequence = run.mean_sequence > 0 ? run.mean_sequence : run.sequence;
  const double tokens = std::max(1.0, run.micro_batch * sequence);  // of one pass of a model replica
  const double trained = run.method == TuneMethod::kAllWeights ? counts.total() : run.trained + run.trained_copy;

  TimeTerms terms{};
  const auto set = [&terms](TimeTerm term, double seconds) { terms[static_cast<std::size_t>(term)] = seconds; };
  const double linear = (flops.Linear() + flops.recompute) / SustainedFlops(gpu, format);
  set(TimeTerm::kLinear, linear);
  set(TimeTerm::kAttention, flops.attention * (full_checkpointing ? 4.5 : 3.5) / 2 / half);
  set(TimeTerm::kElementwise,
      100 * layers * h * (full_checkpointing ? 1.6 : 1) * (run.wide ? 2 : 1) * (run.compile ? kFused : 1) / bandwidth);
  set(TimeTerm::kVocabulary, 16 * static_cast<double>(facts.vocab) / bandwidth);
  const double exchange = ShardingBytes(facts, counts, run) / LinkBytes(run, gpu, run.gpus) / tokens * split;
  set(TimeTerm::kSharding, exchange);
  set(TimeTerm::kExchange, exchange);
  set(TimeTerm::kCrossNode, std::log2(std::max(1.0, run.nodes)) * linear);
  set(TimeTerm::kOptimizer, 30 * trained / run.gpus / bandwidth / (tokens * std::max(1.0, run.accumulation)) * split);
  // Every GPU of a tensor or context group launches the kernels of its layers.
  const double launches = kLaunchesPerLayer * layers * kLaunchSeconds * (full_checkpointing ? 1.5 : 1) / tokens *
                          run.tensor_parallel * run.context_parallel;
  set(TimeTerm::kLaunches, launches);
  set(TimeTerm::kPassOverhead, launches);
  if (run.sharding == Sharding::kZero3) set(TimeTerm::kShardHooks, launches);
  set(TimeTerm::kAdapters, AdapterWidths(run) * 12 / bandwidth);
  if (run.adapter_rank > 0 || run.adapter_inputs > 0) set(TimeTerm::kAdapterLaunches, launches);
  set(TimeTerm::kDeltas, run.adapter_deltas / bandwidth / tokens);
  const double width = facts.experts > 0 ? static_cast<double>(facts.expert_ffn) : h / run.tensor_parallel;
  set(TimeTerm::kSmallMatmul, linear * 1024 / width);
  if (run.method == TuneMethod::kQlora) set(TimeTerm::kDequantize, 27 * counts.body * 3 / bandwidth / tokens);
  if (facts.experts > 0) {
    const double sparse = layers - static_cast<double>(facts.dense_layers);
    const double copies = sparse * static_cast<double>(facts.experts_per_token) * h;
    const double away = 1 - 1 / std::max(1.0, run.expert_parallel);
    set(TimeTerm::kExperts, 8 * copies * away / LinkBytes(run, gpu, run.expert_parallel));
    set(TimeTerm::kRouting, 100 * copies / bandwidth);
    set(TimeTerm::kExpertLaunches, launches * sparse / layers);
  }
  set(TimeTerm::kTensor, 16 * layers * h * (run.tensor_parallel - 1) / LinkBytes(run, gpu, run.tensor_parallel));
  set(TimeTerm::kBubble, (run.pipeline_parallel - 1) / (run.virtual_stages * std::max(1.0, run.accumulation)));
  return terms;
}

double SecondsPerToken(const TimeTerms& terms, std::span<const double> coefficients) {
  std::array<double, 3> work{};
  double wait = 0;
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    const Worker worker = WorkerOf(i);
    (worker == Worker::kAll ? wait : work[static_cast<std::size_t>(worker)]) += coefficients[i] * terms[i];
  }
  return SmoothMaximum(work) * (1 + wait);
}

}  // namespace idleburn
