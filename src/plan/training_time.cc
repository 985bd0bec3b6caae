#include "plan/training_time.h"

#include <algorithm>
#include <cmath>

namespace idleburn {

// FLOPs, terms, and the arithmetic around them. A term is the time that the hardware needs at its best, from bytes or
// operations; multipliers fitted to measured runs make up for the rest. Each term stands for one cause, so that a fit
// can tell causes apart and a new GPU needs no new fit.

TokenFlops FlopsOf(const ModelFacts& facts, const RunConfig& run) {
  const ParamCounts counts = CountParams(facts);
  // The head multiplies every token by the whole vocabulary, also where it is tied to the embedding.
  const double matmul = counts.active_body + static_cast<double>(facts.vocab) * static_cast<double>(facts.hidden);
  const double trained = run.method == TuneMethod::kAllWeights ? matmul : run.trained + run.trained_copy / 2;
  TokenFlops flops;
  flops.forward = 2 * matmul;
  flops.backward_input = 2 * matmul;
  flops.backward_weight = 2 * trained;
  if (run.checkpointing == Checkpointing::kWholeLayers) flops.recompute = 2 * counts.active_body;
  if (run.checkpointing == Checkpointing::kSelective) flops.recompute = counts.active_body;  // every other matmul
  const std::int64_t attending = facts.attention_layers > 0 ? facts.attention_layers : facts.layers;
  flops.attention = 4 * static_cast<double>(attending) * QueryWidth(facts) * run.MeanSequence();
  // Half of the pairs are masked in a decoder. An encoder has no mask, so twice as many count.
  if (facts.kind == ModelKind::kEncoder) flops.attention *= 2;
  return flops;
}

double RuleOfThumbFlops(double params, TuneMethod method, bool checkpointing) {
  return params * ((method == TuneMethod::kAllWeights ? 6 : 4) + (checkpointing ? 2 : 0));
}

namespace {

// Bytes in a GB.
constexpr double kGiga = 1e9;
// Seconds that a host takes to launch a kernel, and kernels of a layer forward and backward: engineering values that
// the fit scales.
constexpr double kLaunchSeconds = 5e-6;
constexpr double kLaunchesPerLayer = 30;
constexpr double kOverlapPower = 4;  // of the p-norm that stands for the longest of three: engineering value
constexpr double kFused = 0.72;      // of the traffic of norms and activations, where a compiler fuses them

// In the order of TimeTerm.
constexpr std::array<std::string_view, kTimeTermCount> kTermNames = {
    "linear",    "attention",  "elementwise",      "vocabulary",   "sharding",        "cross_node",
    "optimizer", "launches",   "pass_overhead",    "small_matmul", "shard_hooks",     "adapters",
    "deltas",    "dequantize", "experts",          "routing",      "expert_launches", "tensor",
    "exchange",  "bubble",     "adapter_launches", "recompute"};

// Three things work at once. A term is work of one of them, or stretches all.
enum class Worker { kDevice, kHost, kLinks, kAll };

// Whose work a term is.
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

// Bytes a second that a GPU gets out of the links that join `ranks` GPUs.
double LinkBytes(const RunConfig& run, const GpuRate& gpu, double ranks) {
  const bool leaves = run.nodes > 1 && ranks > run.gpus / run.nodes;
  const double network = run.network_gbs > 0 ? run.network_gbs : kNodeLinkGbs;
  return (leaves ? std::min(gpu.link_gbs, network) : gpu.link_gbs) * kGiga;
}

// Parameters that a GPU has a part in. Of the experts it has only its own.
double ParametersAt(const ModelFacts& facts, const ParamCounts& counts, const RunConfig& run) {
  if (facts.experts <= facts.experts_per_token || run.expert_parallel <= 1) return counts.total();
  const auto all = static_cast<double>(facts.experts);
  const double unused = counts.body - counts.active_body;  // by one token: the experts that it does not pass
  const double experts = unused * all / (all - static_cast<double>(facts.experts_per_token));
  return counts.total() - experts * (1 - 1 / run.expert_parallel);
}

// Bytes of weights and gradients that the ranks exchange for one pass.
double ShardingBytes(const ModelFacts& facts, const ParamCounts& counts, const RunConfig& run) {
  const double ranks = run.ShardRanks();
  if (ranks <= 1 && run.DataParallel() <= 1) return 0;
  const bool full = run.method == TuneMethod::kAllWeights;
  const double own = ParametersAt(facts, counts, run);
  const double trained = 2 * run.TrainedOf(own);
  const double weights =
      full ? 2 * own : counts.body * run.bytes.frozen + (counts.embedding + counts.head) * run.bytes.frozen_vocab;
  double gathers = run.sharding == Sharding::kZero3 ? 2 : run.sharding == Sharding::kGathered ? 1 : 0;
  if (run.checkpointing == Checkpointing::kWholeLayers && run.sharding == Sharding::kZero3) gathers += 1;
  // Without sharded gradients, gradients and weights pass once a step.
  const double reduces = gathers > 0 ? trained : 2 * trained / std::max(1.0, run.accumulation);
  const double split = run.tensor_parallel * run.pipeline_parallel;
  // Replicas of a shard group add up their shards of the gradients, in 32 bits, once a step.
  const bool replicas = run.shard_group > 0 && run.DataParallel() > run.shard_group;
  const double reduced = replicas ? 2 * trained / ranks / std::max(1.0, run.accumulation) : 0;
  return ((weights * gathers + reduces) * (ranks - 1) / ranks + reduced) / split;
}

// Numbers per token that enter and leave the layers with adapters. For LoRA they follow from its size.
double AdapterWidths(const RunConfig& run) {
  if (run.method == TuneMethod::kAllWeights || run.adapter_rank <= 0) return 0;
  return run.trained / run.adapter_rank;
}

// A p-norm of three times. Work that overlaps is never perfectly hidden, so that close times add up a little.
double OverlappedTime(const std::array<double, 3>& values) {
  const double larger = *std::max_element(values.begin(), values.end());
  if (larger <= 0) return 0;
  double sum = 0;
  for (const double value : values) sum += std::pow(value / larger, kOverlapPower);
  return larger * std::pow(sum, 1 / kOverlapPower);
}

}  // namespace

std::string_view Name(TimeTerm term) { return kTermNames[static_cast<std::size_t>(term)]; }

TimeTerms TermsOf(const ModelFacts& facts, const RunConfig& run, const GpuRate& gpu) {
  const TokenFlops flops = FlopsOf(facts, run);
  const ParamCounts counts = CountParams(facts);
  const bool full_checkpointing = run.checkpointing == Checkpointing::kWholeLayers;
  // Attention and the rest stay in 16 bits (or fp32); only large matmuls use the narrow formats.
  const MatmulFormat half_or_wide = run.wide ? MatmulFormat::kWide : MatmulFormat::kHalf;
  const MatmulFormat format = run.fp4 ? MatmulFormat::kFp4 : run.fp8 ? MatmulFormat::kFp8 : half_or_wide;
  const double half = SustainedFlops(gpu, half_or_wide);
  const double bandwidth = gpu.bandwidth_gbs * kGiga;
  // GPUs that share one replica of the model.
  const double split = run.tensor_parallel * run.pipeline_parallel * run.context_parallel;
  const auto layers = static_cast<double>(facts.layers);
  const auto h = static_cast<double>(facts.hidden);
  const double tokens = std::max(1.0, run.micro_batch * run.MeanSequence());  // of one pass of a model replica
  const double trained = run.TrainedOf(counts.total());

  TimeTerms terms{};
  const auto set = [&terms](TimeTerm term, double seconds) { terms[static_cast<std::size_t>(term)] = seconds; };
  // Recomputed layers are matmuls too, but forward only: they save nothing for the backward pass.
  set(TimeTerm::kLinear, flops.Linear() / SustainedFlops(gpu, format));
  set(TimeTerm::kRecompute, flops.recompute / SustainedFlops(gpu, format));
  const double linear = (flops.Linear() + flops.recompute) / SustainedFlops(gpu, format);
  // Backward is two and a half times forward, and forward is done again with full checkpointing. The causal half is
  // skipped.
  set(TimeTerm::kAttention, flops.attention * (full_checkpointing ? 4.5 : 3.5) / 2 / half);
  // About a hundred bytes a layer and width of reading and writing between matmuls.
  set(TimeTerm::kElementwise,
      100 * layers * h * (full_checkpointing ? 1.6 : 1) * (run.wide ? 2 : 1) * (run.compile ? kFused : 1) / bandwidth);
  // Logits are written, read and differentiated in wide numbers.
  set(TimeTerm::kVocabulary, 16 * static_cast<double>(facts.vocab) / bandwidth);
  // One exchange counts twice: as work of the GPU that waits for it, and as work of the links.
  // A shard group may stay within a machine where the whole run does not.
  const double joined = run.shard_group > 0 ? std::min(run.gpus, run.shard_group * split) : run.gpus;
  const double exchange = ShardingBytes(facts, counts, run) / LinkBytes(run, gpu, joined) / tokens * split;
  set(TimeTerm::kSharding, exchange);
  set(TimeTerm::kExchange, exchange);
  set(TimeTerm::kCrossNode, std::log2(std::max(1.0, run.nodes)) * linear);
  // Thirty bytes of traffic a parameter, once a step.
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
  // The narrowest matmul of a layer; below about a thousand columns a GPU is not filled.
  const double width = facts.experts > 0 ? static_cast<double>(facts.expert_ffn) : h / run.tensor_parallel;
  set(TimeTerm::kSmallMatmul, linear * 1024 / width);
  if (run.method == TuneMethod::kQlora) set(TimeTerm::kDequantize, 27 * counts.body * 3 / bandwidth / tokens);
  if (facts.experts > 0) {
    // Each layer with experts copies a token to as many of them as it passes, there and back.
    const double sparse = layers - static_cast<double>(facts.dense_layers);
    const double copies = sparse * static_cast<double>(facts.experts_per_token) * h;
    const double away = 1 - 1 / std::max(1.0, run.expert_parallel);
    set(TimeTerm::kExperts, 8 * copies * away / LinkBytes(run, gpu, run.expert_parallel));
    set(TimeTerm::kRouting, 100 * copies / bandwidth);
    set(TimeTerm::kExpertLaunches, launches * sparse / layers);
  }
  // Context ranks pass keys and values around, once forward and twice backward, 16 bits each.
  const double ring = 12 * layers * KvWidth(facts) * (run.context_parallel - 1);
  const double inside = run.tensor_parallel * run.context_parallel;
  set(TimeTerm::kTensor, 16 * layers * h * (run.tensor_parallel - 1) / LinkBytes(run, gpu, run.tensor_parallel) +
                             ring / LinkBytes(run, gpu, inside));
  // Ranks that wait at both ends of a step (1F1B), over the micro-batches that hide it.
  set(TimeTerm::kBubble, (run.pipeline_parallel - 1) / (run.virtual_stages * std::max(1.0, run.accumulation)));
  return terms;
}

double SecondsPerToken(const TimeTerms& terms, std::span<const double> coefficients) {
  std::array<double, 3> work{};
  double wait = 0;
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    // Times of one worker add up; the bubble stretches everything.
    const Worker worker = WorkerOf(i);
    (worker == Worker::kAll ? wait : work[static_cast<std::size_t>(worker)]) += coefficients[i] * terms[i];
  }
  return OverlappedTime(work) * (1 + wait);
}

namespace {

// Seconds in a minute, and minutes in an hour.
constexpr double kMinutes = 60;
constexpr double kOptimistic = 0.6;  // of the ceiling

}  // namespace

double EffectiveBatch(double micro_batch, double accumulation, double data_parallel) {
  return micro_batch * accumulation * data_parallel;
}

RunLength LengthOf(double samples, double epochs, double sequence, double effective_batch, double samples_per_min,
                   double gpus) {
  RunLength length;
  length.steps_per_epoch = samples / effective_batch;
  length.minutes_per_epoch = samples / samples_per_min;
  length.hours = samples * epochs / (samples_per_min * kMinutes);
  length.gpu_hours = length.hours * gpus;
  length.samples_per_s = samples_per_min / kMinutes;
  length.tokens_per_s = samples_per_min * sequence / kMinutes;
  return length;
}

CapFacts CapOf(double cap_gpu_hours, double samples, double samples_per_min, double gpus, double overhead) {
  CapFacts cap;
  cap.gpu_hours_per_epoch = samples / (samples_per_min * kMinutes) * gpus;
  cap.share_per_epoch = cap.gpu_hours_per_epoch / cap_gpu_hours;
  cap.epochs = cap_gpu_hours / (cap.gpu_hours_per_epoch * (1 + overhead));
  cap.whole_epochs = std::floor(cap.epochs * (1 + 1e-12));  // 2.9999999999 is a rounding of 3
  // The other way round: from the cap to the rate that it needs.
  cap.samples_per_min = samples * (1 + overhead) / (cap_gpu_hours / gpus * kMinutes);
  return cap;
}

UtilizationChange ChangeOf(double share_before, double ms_before, double share_after, double ms_after) {
  UtilizationChange change;
  change.busy_before_ms = share_before * ms_before;
  change.busy_after_ms = share_after * ms_after;
  change.implied_ms = ms_before * share_before / share_after;
  change.implied_speedup = share_after / share_before;
  change.speedup = ms_before / ms_after;
  change.saved = 1 - ms_after / ms_before;
  return change;
}

UtilizationTarget TargetOf(double share, double ms, double target_share) {
  return {share * ms, share * ms / target_share, target_share / share, 1 - share / target_share};
}

RooflineCheck CheckRoofline(double tokens_per_s_per_gpu, double flops_per_token, double ceiling_flops) {
  RooflineCheck check = {tokens_per_s_per_gpu * flops_per_token, ceiling_flops, Plausibility::kPlausible};
  if (check.implied_flops > ceiling_flops) {
    check.verdict = Plausibility::kImpossible;
  } else if (check.implied_flops > kOptimistic * ceiling_flops) {
    check.verdict = Plausibility::kOptimistic;
  }
  return check;
}

TokenScale ScaleOf(const RunConfig& run) {
  return {EffectiveBatch(run.micro_batch, run.accumulation, run.DataParallel()) * run.sequence, run.sequence};
}

std::optional<double> TokensOf(const WorkCount& work, const TokenScale& scale) {
  // The finest unit wins: tokens need no scale at all, and a sample is nearer to them than a step.
  if (work[WorkUnit::kToken]) return static_cast<double>(*work[WorkUnit::kToken]);
  if (work[WorkUnit::kSample] && scale.sample) return static_cast<double>(*work[WorkUnit::kSample]) * *scale.sample;
  if (work[WorkUnit::kStep] && scale.step) return static_cast<double>(*work[WorkUnit::kStep]) * *scale.step;
  return std::nullopt;
}

}  // namespace idleburn
