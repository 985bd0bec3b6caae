#include "recommend/try_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "diagnose/idle_time.h"
#include "diagnose/make_finding.h"
#include "recommend/lever_table.h"
#include "telemetry/gpu_facts.h"

namespace idleburn {
namespace {

// Limits of what a bucket of the timeline shows.
constexpr double kPart = 0.1;             // share of a bucket that matters
constexpr std::size_t kFewestSteps = 30;  // steps of power needed to measure variation
constexpr double kLinkInUse = 1e6;        // bytes a second; less is housekeeping

// In the order of Pattern.
constexpr std::array<PatternInfo, kPatternCount> kPatterns = {{
    {Pattern::kIdleHeavy, "idle_heavy", "GPUs are idle for much of the time", "idle for 40 % of observed time or more"},
    {Pattern::kBursts, "bursts", "GPUs work in bursts and pause in between",
     "utilization swings by 30 points at least eight times, and at least once in five minutes; or the burst index "
     "shows starvation"},
    {Pattern::kSteadyUnderutilized, "steady_underutilized", "GPUs are steadily under-used",
     "no bursts, and more time below 70 % than in either higher band"},
    {Pattern::kProductive, "productive", "GPUs work with some time to spare",
     "no bursts, and more time from 70 to 90 % than in either other band"},
    {Pattern::kComputeBound, "compute_bound", "GPUs are busy nearly all the time",
     "no bursts, and more time at 90 % or above than in either lower band"},
    {Pattern::kHighMemory, "high_memory", "GPU memory is nearly full", "memory peaks at 85 % or more"},
    {Pattern::kPadding, "padding", "Steps vary in size, as with batches padded to their longest sample",
     "productive or compute_bound, and power varies by 10 % or more of its mean from one part of the timeline to the "
     "next"},
    {Pattern::kSmallAllReduces, "small_all_reduces", "Several GPUs work at once and none is full",
     "two GPUs or more are not compute_bound, and no link counter stays at 0"},
}};

// Observed time of a bucket without work.
double NotBusy(const Timeline::Bucket& bucket) {
  const double used = static_cast<double>(bucket.utilization.area) / static_cast<double>(kFull);
  return std::max(0.0, static_cast<double>(bucket.ObservedNs()) - used);
}

// Whether a bucket has any time that is not idle.
bool WasActive(const Timeline::Bucket& bucket) { return bucket.ObservedNs() > bucket.phase_ns[kIdlePhase]; }

// A part of a bucket's observed time.
double ShareOfBucket(std::int64_t ns, const Timeline::Bucket& bucket) {
  return static_cast<double>(ns) / static_cast<double>(bucket.ObservedNs());
}

// Counts turns of utilization by at least kSwingPoints. A bucket that contains both extremes turns twice by itself.
//
// Example: buckets of 90, 20, 85, 60 and 30 % turn three times: down, up and down. The step from 85 to 60 is too
// small to turn by itself.
class Swings {
 public:
  void Add(const Timeline::Bucket& bucket) {
    if (bucket.ObservedNs() == 0) return;
    const double at = bucket.utilization.Mean().value_or(0) / kPercent;
    const bool both = ShareOfBucket(bucket.phase_ns[kIdlePhase], bucket) >= kPart &&
                      ShareOfBucket(bucket.phase_ns[kProductivePhase] + bucket.phase_ns[kBoundPhase], bucket) >= kPart;
    if (both) count_ += 2;
    if (!started_) low_ = high_ = at;
    started_ = true;
    low_ = std::min(low_, at);
    high_ = std::max(high_, at);
    if (direction_ <= 0 && at >= low_ + kSwingPoints) Turn(1, at);
    if (direction_ >= 0 && at <= high_ - kSwingPoints) Turn(-1, at);
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  void Turn(int direction, double at) {
    ++count_;
    direction_ = direction;
    low_ = high_ = at;
  }
  int count_ = 0;
  int direction_ = 0;  // of the last turn; 0: none yet
  double low_ = 0;     // since that turn
  double high_ = 0;
  bool started_ = false;
};

// How much power changes between neighbouring busy buckets, as a share of its mean. The variance over a whole
// run would mistake an evaluation after training for variation.
class PowerSteps {
 public:
  void Add(const Timeline::Bucket& bucket) {
    const bool busy =
        bucket.ObservedNs() > 0 &&
        ShareOfBucket(bucket.phase_ns[kProductivePhase] + bucket.phase_ns[kBoundPhase], bucket) >= 1 - kPart;
    const std::optional<double> power = busy ? bucket.power.Mean() : std::nullopt;
    if (power && last_) {
      changes_ += std::fabs(*power - *last_);
      sum_ += *power;
      ++count_;
    }
    last_ = power;
  }
  [[nodiscard]] std::optional<double> Varies() const {
    if (count_ < kFewestSteps || sum_ <= 0) return std::nullopt;
    return changes_ / sum_;
  }

 private:
  std::optional<double> last_;
  double changes_ = 0;
  double sum_ = 0;
  std::size_t count_ = 0;
};

// Adds what only the timeline tells. `weight` is GPU-time per nanosecond of the device. `stop_ns` is idle time
// that somebody could have used.
void ReadTimeline(const IdleStretches& idle, std::int64_t stop_ns, double weight, GpuPicture& gpu) {
  const std::vector<Timeline::Bucket>& buckets = gpu.result->totals.timeline.buckets;
  gpu.long_idle_ns = std::min(static_cast<double>(stop_ns) * weight, gpu.waste_ns);
  // Only the time from the first to the last work counts, without long idle stretches.
  const auto first = std::find_if(buckets.begin(), buckets.end(), WasActive);
  const auto last = std::find_if(buckets.rbegin(), buckets.rend(), WasActive).base();
  Swings swings;
  PowerSteps power;
  double pauses = 0;
  std::int64_t seconds = 0;
  for (auto at = first; at < last; ++at) {
    if (idle.marked[static_cast<std::size_t>(at - buckets.begin())]) continue;
    pauses += NotBusy(*at);
    swings.Add(*at);
    power.Add(*at);
    seconds += at->ObservedNs() / kNanosPerSecond;
  }
  gpu.pauses_ns = std::min(pauses * weight, gpu.waste_ns - gpu.long_idle_ns);
  gpu.swings = swings.count();
  gpu.swing_seconds = swings.count() == 0 ? 0 : static_cast<double>(seconds) / swings.count();
  gpu.power_varies = power.Varies();
}

// Whether readings alternate often enough, with material pauses.
bool InBursts(const GpuPicture& gpu) {
  const DeviceTotals& t = gpu.result->totals;
  const bool starved = static_cast<double>(t.burst.ns) >= kMaterialShare * static_cast<double>(t.ObservedNs());
  const bool swings = gpu.swings >= kSwings && gpu.swing_seconds <= kSwingEverySeconds;
  return (starved || swings) && gpu.pauses_ns >= kMaterialShare * gpu.observed_ns;
}

// The band with most of the working time, for a GPU without bursts. Time in spin-wait counts for no band: it looks
// full and is not.
Pattern SteadyPattern(const GpuPicture& gpu, const IdleStretches& idle) {
  std::array<std::int64_t, kPhaseCount> at_work{};
  const auto& buckets = gpu.result->totals.timeline.buckets;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    for (std::size_t p = 0; p < kPhaseCount && !idle.marked[i]; ++p) at_work[p] += buckets[i].phase_ns[p];
  }
  const std::int64_t low = at_work[kIdlePhase] + at_work[kUnderutilizedPhase];
  const std::int64_t bound = at_work[kBoundPhase] - gpu.result->spin.time.ns;
  if (low >= at_work[kProductivePhase] && low >= bound) return Pattern::kSteadyUnderutilized;
  return at_work[kProductivePhase] >= bound ? Pattern::kProductive : Pattern::kComputeBound;
}

// Sets whether a GPU shows a pattern.
void Show(Pattern p, bool shown, GpuPicture& gpu) { gpu.shows[static_cast<std::size_t>(p)] = shown; }

// The picture of one device.
GpuPicture TakePicture(const Scene& scene, const CostReport::DeviceCost& capacity, const DeviceResult& d,
                       const StopTime& stop) {
  GpuPicture gpu;
  gpu.result = &d;
  const UsageCost& u = capacity.usage;
  gpu.observed_ns = static_cast<double>(u.observed_ns);
  gpu.waste_ns = std::max(0.0, gpu.observed_ns - u.effective_ns);
  gpu.busy_ns = std::max(0.0, u.effective_ns - u.spin_effective_ns);
  gpu.memory_peak = d.totals.PeakMemoryShare();
  const IdleStretches idle = FindIdleStretches(d.totals);
  const Timeline& timeline = d.totals.timeline;
  // No finding has claimed time here: a try may reach it.
  const std::vector<bool> none_taken(timeline.buckets.size());
  ReadTimeline(idle, BeyondGrace(scene.thresholds, stop, timeline, none_taken), capacity.weight, gpu);
  Show(Pattern::kIdleHeavy, static_cast<double>(u.phase_ns[kIdlePhase]) >= kIdleHeavyShare * gpu.observed_ns, gpu);
  // The remaining patterns describe work, so an unused GPU has none of them.
  if (BusyPhasesNs(d.totals) == 0) return gpu;
  Show(InBursts(gpu) ? Pattern::kBursts : SteadyPattern(gpu, idle), true, gpu);
  Show(Pattern::kHighMemory, gpu.memory_peak.value_or(0) >= kHighMemoryShare, gpu);
  const bool full = gpu.Shows(Pattern::kProductive) || gpu.Shows(Pattern::kComputeBound);
  Show(Pattern::kPadding, full && gpu.power_varies.value_or(0) >= kPowerVaries, gpu);
  return gpu;
}

// Whether a counter of a link between GPUs was read and nothing crossed the link.
bool LinkIsQuiet(const DeviceTotals& t) {
  return t.nvlink_readings.ns > 0 && t.nvlink_readings.Mean().value_or(0) < kLinkInUse;
}

// Marks GPUs that may wait for each other in small all-reduces: at least two GPUs that pause, and no link that
// was read and quiet.
void MarkExchange(std::vector<GpuPicture>& gpus) {
  const auto may_wait = [](const GpuPicture& gpu) {
    const bool works =
        gpu.Shows(Pattern::kBursts) || gpu.Shows(Pattern::kSteadyUnderutilized) || gpu.Shows(Pattern::kProductive);
    return works && gpu.pauses_ns >= kMaterialShare * gpu.observed_ns && !LinkIsQuiet(gpu.result->totals);
  };
  if (std::count_if(gpus.begin(), gpus.end(), may_wait) < 2) return;
  for (GpuPicture& gpu : gpus) Show(Pattern::kSmallAllReduces, may_wait(gpu), gpu);
}

double Percent(double share) { return 100 * share; }

// The largest value among the GPUs.
template <typename Value>
double Largest(const std::vector<const GpuPicture*>& gpus, Value value) {
  double most = 0;
  for (const GpuPicture* gpu : gpus) most = std::max(most, value(*gpu));
  return most;
}

// The share of these GPUs' observed time in a phase, without spin-wait.
double PhaseShare(const std::vector<const GpuPicture*>& gpus, std::size_t phase) {
  std::int64_t in = 0;
  std::int64_t all = 0;
  for (const GpuPicture* gpu : gpus) {
    const DeviceTotals& t = gpu->result->totals;
    in += t.phase_ns[phase] - (phase == kBoundPhase ? gpu->result->spin.time.ns : 0);
    all += t.ObservedNs();
  }
  return all == 0 ? 0 : static_cast<double>(in) / static_cast<double>(all);
}

// The share of time in a phase, as a sentence.
std::string InBand(const Scene& scene, const std::vector<const GpuPicture*>& gpus, std::size_t phase) {
  const Thresholds& t = scene.thresholds;
  const std::string band =
      phase == kIdlePhase            ? "below " + InPercent(t.idle_below) + " %"
      : phase == kUnderutilizedPhase ? "from " + InPercent(t.idle_below) + " to " + InPercent(t.productive_from) + " %"
      : phase == kProductivePhase    ? "from " + InPercent(t.productive_from) + " to " + InPercent(t.bound_from) + " %"
                                     : "at " + InPercent(t.bound_from) + " % or above";
  return fmt::format("{} is {} for {:.1f} % of the observed time", scene.BusyCounter(), band,
                     Percent(PhaseShare(gpus, phase)));
}

// How often utilization swings. With few swings, the burst index of the classifier decided.
std::string BurstEvidence(const Scene& scene, const std::vector<const GpuPicture*>& gpus) {
  const GpuPicture& most = **std::max_element(
      gpus.begin(), gpus.end(), [](const GpuPicture* a, const GpuPicture* b) { return a->swings < b->swings; });
  if (most.swings < kSwings) {
    return fmt::format("{} alternates between both extremes within seconds (burst index)", scene.BusyCounter());
  }
  return fmt::format("{} swings by {:.0f} points or more {} times, every {:.1f} s on average (threshold: {} times)",
                     scene.BusyCounter(), kSwingPoints, most.swings, most.swing_seconds, kSwings);
}

// What was read of the links between the GPUs.
std::string LinkEvidence(const Scene& scene, const std::vector<const GpuPicture*>& gpus) {
  const double rate =
      Largest(gpus, [](const GpuPicture& gpu) { return gpu.result->totals.nvlink_readings.Mean().value_or(0); });
  const std::string several = fmt::format("{} GPUs work at once, and none is compute_bound", gpus.size());
  if (rate <= 0) return several;
  return fmt::format("{}; {} moves up to {:.3g} GB/s", several, CounterOf(scene, Signal::kNvlink), rate / 1e9);
}

}  // namespace

std::span<const PatternInfo, kPatternCount> Patterns() { return kPatterns; }

const PatternInfo& Info(Pattern p) { return kPatterns[static_cast<std::size_t>(p)]; }

std::vector<GpuPicture> TakePictures(const Scene& scene) {
  std::vector<GpuPicture> gpus;
  if (scene.traced_only) return gpus;
  const std::vector<StopTime> stops = FindStopTimes(scene);
  for (const CostReport::DeviceCost& d : scene.cost.devices) {
    const DeviceResult* result = scene.run.Of(d.device);
    if (result == nullptr || d.usage.observed_ns <= 0) continue;
    gpus.push_back(TakePicture(scene, d, *result, stops[static_cast<std::size_t>(result - scene.run.devices.data())]));
  }
  MarkExchange(gpus);
  return gpus;
}

std::string DescribeEvidence(const Scene& scene, Pattern pattern, const std::vector<const GpuPicture*>& gpus) {
  switch (pattern) {
    case Pattern::kIdleHeavy:
      return InBand(scene, gpus, kIdlePhase) + fmt::format(" (threshold {:.0f} %)", Percent(kIdleHeavyShare));
    case Pattern::kBursts:
      return BurstEvidence(scene, gpus);
    case Pattern::kSteadyUnderutilized:
      return InBand(scene, gpus, kUnderutilizedPhase) + ", without bursts";
    case Pattern::kProductive:
      return InBand(scene, gpus, kProductivePhase) + ", without bursts";
    case Pattern::kComputeBound:
      return InBand(scene, gpus, kBoundPhase);
    case Pattern::kHighMemory:
      return fmt::format("{} peaks at {:.0f} % of the GPU's memory (threshold {:.0f} %)",
                         CounterOf(scene, Signal::kMemoryUsed),
                         Percent(Largest(gpus, [](const GpuPicture& g) { return g.memory_peak.value_or(0); })),
                         Percent(kHighMemoryShare));
    case Pattern::kPadding:
      return fmt::format("{} varies by {:.0f} % of its mean while busy (threshold {:.0f} %)",
                         CounterOf(scene, Signal::kPower),
                         Percent(Largest(gpus, [](const GpuPicture& g) { return g.power_varies.value_or(0); })),
                         Percent(kPowerVaries));
    case Pattern::kSmallAllReduces:
      return LinkEvidence(scene, gpus);
  }
  return "";
}

namespace {

using P = Pattern;
using R = Reach;

// Texts that several rows share.
constexpr std::string_view kLoaderHow =
    "DataLoader(num_workers=N, persistent_workers=True); start with N = CPU cores per GPU";
constexpr std::string_view kLoaderUnseen =
    "not in this log: loader workers, CPU cores and storage; launches and synchronisation pause a GPU too";
constexpr std::string_view kSyntheticBatch =
    "50 steps on one batch that stays on the device: if the pauses vanish, the input pipeline causes them";
constexpr std::string_view kDaliHow =
    "NVIDIA DALI: fn.decoders.image(..., device=\"mixed\") and fn.random_resized_crop on the GPU, read by "
    "DALIGenericIterator; or torchvision.transforms.v2 on CUDA tensors";
constexpr std::string_view kBatchHow =
    "double per_device_train_batch_size until memory reaches 85 %; learning rate x 2 (SGD) or x 1.4 (Adam) for each "
    "doubling, warm-up twice as long";
constexpr std::string_view kBatchUnseen = "not in this log: whether convergence allows a larger batch";
constexpr std::string_view kBatchConfirm = "100 steps with twice the batch: time per sample must fall";
constexpr std::string_view kGraphsHow =
    "torch.compile(model, mode=\"reduce-overhead\"), or torch.cuda.graph around a step of fixed shapes";
constexpr std::string_view kGraphsUnseen = "not in this log: how long kernels and their launches take";
constexpr std::string_view kGraphsConfirm =
    "torch.profiler for 20 steps: the median kernel is shorter than the distance of two launches";
constexpr std::string_view kShareUnseen = "not in this log: other jobs that could take the rest of the GPU";
constexpr std::string_view kSharePair =
    "run two of these jobs on one GPU for 30 minutes: they must be faster together than in sequence";
constexpr std::string_view kSlowerUnseen =
    "not in this log: how much slower the job gets there; it saves only where the price falls by more";
constexpr std::string_view kSmallerConfirm = "20 steps on the smaller GPU: seconds per step x price of an hour";
constexpr std::string_view kPrecisionUnseen = "not in this log: the precision that runs now";
constexpr std::string_view kPrecisionConfirm =
    "20 steps with and without it on the same batch: seconds per step; then 500 steps: the loss curve";
constexpr std::string_view kAccumulateHow =
    "gradient_accumulation_steps=4; with DistributedDataParallel use model.no_sync() on all but the last micro-batch";
constexpr std::string_view kMemoryConfirm =
    "torch.cuda.memory_stats()[\"num_alloc_retries\"] over 100 steps: retries mean that memory is short";
constexpr std::string_view kPaddingUnseen =
    "not in this log: the share of padding; power also varies with evaluation, checkpoints and other jobs";
constexpr std::string_view kPaddingConfirm =
    "(batch[\"attention_mask\"] == 0).float().mean() over an epoch: the share of padding";
constexpr std::string_view kMessagesUnseen =
    "not in this log: whether these GPUs run one job, and the size of its messages";
constexpr std::string_view kMessagesConfirm =
    "torch.profiler for 20 steps on every rank: median duration of the all-reduce kernels; one step under no_sync() "
    "for comparison";

// In the order in which to try them, by pattern.
constexpr auto kRows = std::to_array<TryRow>({
    {P::kBursts, "num_workers", R::kPauses, kLoaderHow, kLoaderUnseen, kSyntheticBatch},
    {P::kBursts, "prefetch", R::kPauses,
     "DataLoader(num_workers=8, prefetch_factor=4); tf.data: dataset.prefetch(tf.data.AUTOTUNE)", kLoaderUnseen,
     "time each next(iterator): a median near 0 with a long tail means that prefetching helps"},
    {P::kBursts, "pin_memory", R::kPauses, "DataLoader(pin_memory=True) and batch.to(\"cuda\", non_blocking=True)",
     "not in this log: how large copies are, and whether from pinned memory",
     "torch.profiler for 20 steps: rows named Memcpy HtoD (Pageable -> Device)"},
    {P::kBursts, "dali", R::kPauses, kDaliHow, kLoaderUnseen,
     "top -H while it runs: loader workers at 100 % CPU and no core free"},
    {P::kBursts, "cache_dataset", R::kPauses,
     "prepare once: datasets.map(prepare, num_proc=8).save_to_disk(DIR), or WebDataset shards of 100 MB on local NVMe",
     kLoaderUnseen, "run the second epoch from /dev/shm: if the pauses shrink, storage or decoding causes them"},
    {P::kSteadyUnderutilized, "larger_batch", R::kPauses, kBatchHow, kBatchUnseen, kBatchConfirm},
    {P::kSteadyUnderutilized, "num_workers", R::kPauses, kLoaderHow, kLoaderUnseen, kSyntheticBatch},
    {P::kSteadyUnderutilized, "cuda_graphs", R::kPauses, kGraphsHow, kGraphsUnseen, kGraphsConfirm},
    {P::kSteadyUnderutilized, "dali", R::kPauses, kDaliHow, kLoaderUnseen,
     "top -H while it runs: loader workers at 100 % CPU and no core free"},
    {P::kSteadyUnderutilized, "smaller_gpu", R::kWaste, "", kSlowerUnseen, kSmallerConfirm},
    {P::kSteadyUnderutilized, "mig", R::kWaste, "", kShareUnseen,
     "20 steps in one instance: seconds per step against the whole GPU"},
    {P::kProductive, "larger_batch", R::kPauses, kBatchHow, kBatchUnseen, kBatchConfirm},
    {P::kProductive, "overlap_copies", R::kPauses,
     "DataLoader(pin_memory=True); copy the next batch on a second stream: with torch.cuda.stream(copies): "
     "next_batch = batch.to(\"cuda\", non_blocking=True)",
     "not in this log: how long copies take, and whether compute hides them",
     "torch.profiler for 20 steps: time of Memcpy HtoD without a running kernel"},
    {P::kProductive, "cuda_graphs", R::kPauses, kGraphsHow, kGraphsUnseen, kGraphsConfirm},
    {P::kProductive, "smaller_gpu", R::kWaste, "", kSlowerUnseen, kSmallerConfirm},
    {P::kComputeBound, "mixed_precision", R::kBusy, "", kPrecisionUnseen, kPrecisionConfirm},
    {P::kComputeBound, "fp8", R::kBusy,
     "torchao.float8.convert_to_float8_training(model), then torch.compile(model); or Transformer Engine: "
     "te.fp8_autocast(enabled=True). Keep the first and the last layer in bf16",
     kPrecisionUnseen, kPrecisionConfirm},
    {P::kComputeBound, "fused_kernels", R::kBusy,
     "torch.compile(model, mode=\"max-autotune\"); torch.nn.functional.scaled_dot_product_attention; "
     "torch.optim.AdamW(..., fused=True)",
     "not in this log: the share of short memory-bound kernels, and whether they are fused already",
     "torch.profiler for 20 steps: share of elementwise, normalisation and softmax kernels"},
    {P::kHighMemory, "gradient_checkpointing", R::kPauses,
     "model.gradient_checkpointing_enable(), or torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False); "
     "spend "
     "the memory on a larger batch",
     "it computes the forward pass twice, about a third more compute; an allocator's cache looks full too",
     kMemoryConfirm},
    {P::kHighMemory, "gradient_accumulation", R::kPauses,
     "half the micro-batch and gradient_accumulation_steps=2: the same batch in less memory",
     "an allocator's cache looks full too", kMemoryConfirm},
    {P::kPadding, "bucketing", R::kBusy,
     "batches of similar length: TrainingArguments(group_by_length=True), from transformers 5 on "
     "train_sampling_strategy=\"group_by_length\"; tf.data: bucket_by_sequence_length",
     kPaddingUnseen, kPaddingConfirm},
    {P::kPadding, "packing", R::kBusy,
     "TRL: SFTConfig(packing=True); transformers: DataCollatorWithFlattening() with FlashAttention; torchtune: "
     "dataset.packed=True",
     kPaddingUnseen, kPaddingConfirm},
    {P::kSmallAllReduces, "overlap_communication", R::kPauses,
     "larger messages: DistributedDataParallel(model, bucket_cap_mb=100, gradient_as_bucket_view=True); FSDP: "
     "forward_prefetch=True",
     kMessagesUnseen, kMessagesConfirm},
    {P::kSmallAllReduces, "gradient_accumulation", R::kPauses, kAccumulateHow, kMessagesUnseen, kMessagesConfirm},
    {P::kIdleHeavy, "stop_idle", R::kIdleStretches,
     "end what holds the GPU: timeout 4h CMD, scancel JOBID, or kubectl scale deployment NAME --replicas=0",
     "not in this log: whether anybody needs the process that holds the GPU",
     "find the process and ask its owner: nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv"},
    {P::kIdleHeavy, "autoscale", R::kIdleStretches,
     "KEDA ScaledObject: minReplicaCount: 0, cooldownPeriod: 300; Knative: autoscaling.knative.dev/min-scale: \"0\"",
     "not in this log: whether the load is a service that may start late",
     "compare requests per minute over a week with this log: idle stretches have none"},
    {P::kIdleHeavy, "mps", R::kWaste,
     "nvidia-cuda-mps-control -d; start two jobs, each with CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50", kShareUnseen,
     kSharePair},
    {P::kIdleHeavy, "mig", R::kWaste, "", kShareUnseen,
     "20 steps in one instance: seconds per step against the whole GPU"},
    {P::kIdleHeavy, "bin_packing", R::kWaste,
     "Slurm: SelectType=select/cons_tres without CR_LLN, GresTypes=gpu,shard and --gres=shard:1; Kubernetes: "
     "NodeResourcesFit scoringStrategy MostAllocated on nvidia.com/gpu, time-slicing replicas: 2",
     "not in this log: whether the jobs of these GPUs may share one", kSharePair},
    {P::kIdleHeavy, "smaller_gpu", R::kWaste, "", kSlowerUnseen, kSmallerConfirm},
});

}  // namespace

std::string_view Name(Reach r) {
  constexpr std::array<std::string_view, kReachCount> kNames = {"idle_stretches", "waste", "pauses", "busy"};
  return kNames[static_cast<std::size_t>(r)];
}

std::string_view InWords(Reach r) {
  constexpr std::array<std::string_view, kReachCount> kWords = {
      "the idle time that another job could have used", "all time in which these GPUs were not busy",
      "the time not busy between first and last work, without long idle stretches",
      "the busy time, if all of that work gets"};
  return kWords[static_cast<std::size_t>(r)];
}

std::span<const TryRow> TryRows() { return kRows; }

namespace {

constexpr double kFits = 0.85;  // of a smaller GPU's memory
// How many smaller models a text names.
constexpr std::size_t kSmallerNamed = 3;

// The first word of a normalised name: the model without form factor and memory.
std::string FirstWord(std::string_view gpu_name) {
  const std::string name = NormalGpuName(gpu_name);
  return name.substr(0, name.find(' '));
}

template <std::size_t N>
bool IsOf(const std::array<std::string_view, N>& families, std::string_view gpu_name) {
  return std::find(families.begin(), families.end(), FirstWord(gpu_name)) != families.end();
}

// Hopper, Blackwell, Ada in data centres and CDNA 3. Some variants have no published peak.
constexpr auto kFp8Families =
    std::to_array<std::string_view>({"h100", "h200", "h800", "h20", "gh200", "b100", "b200", "b300", "gb200", "gb300",
                                     "l4", "l40", "l40s", "mi300x", "mi325x"});
// GPUs before compute capability 8.0.
constexpr auto kNoBf16 = std::to_array<std::string_view>({"v100", "t4", "p100", "p40", "p4", "k80", "m60"});

// Equal instances of a board, with profile ids as `nvidia-smi mig -lgip` prints them.
struct MigCut {
  std::string_view family;
  std::string_view small;  // instances of the smallest profile
  double small_memory;     // share of the board's memory in each
  std::string_view half;   // two instances with half the memory each
};
constexpr std::string_view kSevenOnes = "19,19,19,19,19,19,19";
constexpr auto kMigCuts = std::to_array<MigCut>({
    {"a100", kSevenOnes, 0.125, "9,9"},
    {"a800", kSevenOnes, 0.125, "9,9"},
    {"h100", kSevenOnes, 0.125, "9,9"},
    {"h200", kSevenOnes, 0.125, "9,9"},
    {"h800", kSevenOnes, 0.125, "9,9"},
    {"a30", "14,14,14,14", 0.25, "5,5"},
});

}  // namespace

bool HasFp8(std::string_view gpu_name) {
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  return (facts && facts->fp8_tflops) || IsOf(kFp8Families, gpu_name);
}

std::optional<double> Fp8Speedup(std::string_view gpu_name) {
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  if (!facts || !facts->fp8_tflops || !facts->half_tflops) return std::nullopt;
  return static_cast<double>(*facts->fp8_tflops) / static_cast<double>(*facts->half_tflops);
}

std::string MixedPrecisionSettings(std::string_view gpu_name) {
  if (IsOf(kNoBf16, gpu_name)) {
    return "with torch.autocast(\"cuda\", dtype=torch.float16): loss = ..., and torch.amp.GradScaler(\"cuda\"): this "
           "GPU "
           "has no bf16";
  }
  if (FactsFor(gpu_name)) return "with torch.autocast(\"cuda\", dtype=torch.bfloat16): loss = ...; no scaler needed";
  return std::string(LeverById("mixed_precision").how);
}

std::string MigSettings(std::string_view gpu_name, std::optional<double> memory_peak, const std::string& index) {
  const std::string enable = fmt::format("nvidia-smi -i {} -mig 1 while the GPU is idle; ", index);
  const auto* cut =
      std::find_if(kMigCuts.begin(), kMigCuts.end(), [&](const MigCut& c) { return c.family == FirstWord(gpu_name); });
  if (cut == kMigCuts.end()) {
    return enable + fmt::format("nvidia-smi mig -lgip lists its profiles; nvidia-smi mig -i {} -cgi PROFILE -C", index);
  }
  const bool small = memory_peak && *memory_peak <= kFits * cut->small_memory;
  return enable + fmt::format("nvidia-smi mig -i {} -cgi {} -C: {}; one job an instance", index,
                              small ? cut->small : cut->half,
                              small ? "the smallest instances" : "two instances, each with half the memory");
}

// Models are compared by their published dense peak. A model without one is left out, and not guessed.
std::optional<std::vector<std::string>> SmallerGpus(std::string_view gpu_name, double memory_bytes) {
  constexpr double kGigabyte = 1e9;
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  if (!facts || !facts->half_tflops) return std::nullopt;
  std::vector<const GpuFacts*> fitting;
  for (const GpuFacts& other : AllGpuFacts()) {
    if (!other.half_tflops || !other.memory_gb || !CanReplace(gpu_name, other)) continue;
    const bool fits = static_cast<double>(*other.memory_gb) * kGigabyte * kFits >= memory_bytes;
    if (fits && *other.half_tflops < *facts->half_tflops) fitting.push_back(&other);
  }
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const GpuFacts* a, const GpuFacts* b) { return *a->half_tflops > *b->half_tflops; });
  fitting.resize(std::min(fitting.size(), kSmallerNamed));
  std::vector<std::string> names;
  for (const GpuFacts* other : fitting) names.push_back(other->gpu);
  return names;
}

}  // namespace idleburn
