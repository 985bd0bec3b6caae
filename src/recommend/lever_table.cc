#include "recommend/lever_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/result.h"
#include "diagnose/findings.h"
#include "diagnose/idle_time.h"
#include "diagnose/live_causes.h"
#include "diagnose/stalls.h"
#include "diagnose/work_evidence.h"
#include "recommend/framework_how.h"
#include "telemetry/gpu_facts.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// How to verify a lever: by a second run, or by a second trace.
constexpr std::string_view kAgain = "record again for as long, then compare cost per step";
constexpr std::string_view kTrace = "profile 20 steps again; the cause's share of the step must fall";

// In each row: id, title, axis, pool, what must be seen, what refutes it, how to apply it, how to verify it.
constexpr auto kLevers = std::to_array<Lever>({
    {"num_workers", "More data-loader workers", Axis::kTime, Pool::kLoader,
     "idle time in the loader, and CPU cores to spare", "no free cores, or workers that wait for storage",
     "DataLoader(..., num_workers=N); start with N = free cores per GPU", kTrace},
    {"persistent_workers", "Keep loader workers alive between epochs", Axis::kTime, Pool::kLoader,
     "pauses at the start of each epoch", "one epoch only", "DataLoader(..., persistent_workers=True)", kTrace},
    {"prefetch", "Prefetch further ahead", Axis::kTime, Pool::kLoader, "a loader that is fast on average but uneven",
     "a loader that is slow on average", "DataLoader(..., prefetch_factor=4)", kTrace},
    {"pin_memory", "Pinned host memory", Axis::kTime, Pool::kCopy, "pageable host-to-device copies in the step",
     "copies that are pinned and large already", "DataLoader(..., pin_memory=True)", kTrace},
    {"non_blocking_copies", "Copies that do not block", Axis::kTime, Pool::kCopy, "copies that the host waits for",
     "copies that overlap compute already", "batch.to(device, non_blocking=True), from pinned memory", kTrace},
    {"dali", "Decode and augment on the GPU", Axis::kTime, Pool::kLoader, "a loader without free CPU cores",
     "idle CPU cores", "NVIDIA DALI pipeline, or torchvision.transforms.v2 on the device", kTrace},
    {"cache_dataset", "Cache the prepared data set", Axis::kTime, Pool::kLoader, "the same decoding in every epoch",
     "data that changes each epoch", "write decoded samples once (memmap, WebDataset, Arrow)", kTrace},
    {"pretokenize", "Tokenise once, before training", Axis::kTime, Pool::kLoader, "tokenisation inside the loader",
     "tokenised inputs already", "datasets.map(tokenize, num_proc=N).save_to_disk(...)", kTrace},
    {"faster_storage", "Faster storage for the data", Axis::kTime, Pool::kLoader,
     "loader workers in uninterruptible sleep while reading", "reads served from the page cache",
     "copy the data to local NVMe, or a larger storage tier", kTrace},
    {"sharded_reads", "Large sequential shards instead of small files", Axis::kTime, Pool::kLoader,
     "many small random reads", "large sequential reads already", "WebDataset or MosaicML shards of 100 MB and more",
     kTrace},
    {"larger_batch", "Larger batch", Axis::kTime, Pool::kLaunch, "kernels shorter than their launches",
     "memory that is nearly full", "per_device_train_batch_size x 2, learning rate adapted", kTrace},
    {"gradient_accumulation", "Accumulate gradients", Axis::kTime, Pool::kComm, "exposed communication in every step",
     "communication that overlaps compute already", "gradient_accumulation_steps=k, model.no_sync() between", kTrace},
    {"mixed_precision", "Mixed precision", Axis::kTime, Pool::kCompute,
     "compute-bound by SM or tensor activity, at a higher precision", "utilization.gpu alone; an under-used GPU",
     "torch.autocast('cuda', dtype=torch.bfloat16); before compute capability 8.0 (V100, T4) dtype=torch.float16 with "
     "torch.amp.GradScaler('cuda')",
     kAgain},
    {"fp8", "FP8 matrix products", Axis::kTime, Pool::kCompute,
     "compute-bound by tensor activity, in bf16, on Hopper or newer", "utilization.gpu alone; small matrices",
     "torchao float8; on NVIDIA also Transformer Engine fp8_autocast", kAgain},
    {"fused_kernels", "Fused kernels", Axis::kTime, Pool::kCompute, "many short memory-bound kernels",
     "large matrix products dominate", "torch.compile(model), FlashAttention, fused optimizers", kAgain},
    {"cuda_graphs", "CUDA graphs", Axis::kTime, Pool::kLaunch, "many launches with gaps between short kernels",
     "shapes that change every step", "torch.compile(mode='reduce-overhead'), or torch.cuda.graph", kTrace},
    {"nccl_tuning", "Tune NCCL", Axis::kTime, Pool::kComm, "exposed transfer time below the link's speed",
     "time spent waiting for a slow rank", "NCCL_DEBUG=INFO; check NCCL_IB_HCA, NCCL_ALGO, topology", kTrace},
    {"overlap_communication", "Overlap communication with compute", Axis::kTime, Pool::kComm, "exposed communication",
     "communication that overlaps already", "DDP bucket_cap_mb, FSDP forward_prefetch=True", kTrace},
    {"fix_straggler", "Find and fix the slow rank", Axis::kTime, Pool::kSpin,
     "GPUs with a high busy counter and no work, while another GPU lags", "SM activity or power that shows work",
     "profile the rank with the lowest utilisation; swap its host to tell data from machine", kAgain},
    {"remove_syncs", "Remove synchronisations", Axis::kTime, Pool::kSync, "synchronising calls over idle device time",
     "calls that wait while the device is busy", "log every N steps instead of .item() each step", kTrace},
    {"async_checkpoint", "Asynchronous or sharded checkpoints", Axis::kTime, Pool::kCheckpoint,
     "periodic stalls in which one rank writes and the others wait", "no writes, or no period",
     "torch.distributed.checkpoint.async_save, or save less often", kAgain},
    {"gradient_checkpointing", "Recompute activations", Axis::kTime, Pool::kMemory,
     "memory pressure with allocator retries", "a steady allocator",
     "model.gradient_checkpointing_enable(), and a larger batch for it", kAgain},
    {"power_cap_or_cooling", "Lift the power cap, or cool the board", Axis::kTime, Pool::kThrottle,
     "slowdown reasons active and SM clock 5 % or more below its maximum", "full clocks under load",
     "nvidia-smi -q -d PERFORMANCE,POWER; raise nvidia-smi -pl to the default; check fans and inlet air", kAgain},
    {"mps", "Share the GPU between processes (MPS)", Axis::kTime, Pool::kLaunch,
     "steady low SM activity that cannot grow", "bursts that wait for a loader",
     "nvidia-cuda-mps-control -d; several processes per GPU", kAgain},
    {"mig", "Cut the GPU into slices (MIG)", Axis::kTime, Pool::kIdle, "small jobs that hold a whole GPU",
     "a job that needs the GPU in bursts",
     "nvidia-smi -i N -mig 1 while the GPU is idle; nvidia-smi mig -lgip lists its profiles; nvidia-smi mig -i N -cgi "
     "PROFILE -C; one job a slice",
     kAgain},
    {"smaller_gpu", "A smaller GPU", Axis::kTime, Pool::kLaunch, "steady low SM activity and memory use",
     "bursts, or memory that would not fit", "the next smaller model with enough memory", kAgain},
    {"larger_gpu", "A larger GPU", Axis::kTime, Pool::kCopy, "a link that is saturated by offloading",
     "utilization.gpu alone", "the next larger model; compare cost per step, not per hour", kAgain},
    {"bin_packing", "Pack jobs onto fewer GPUs", Axis::kTime, Pool::kIdle, "GPUs allocated with no process on them",
     "GPUs that are needed together",
     "Slurm: select/cons_tres without CR_LLN or LLN=YES; Kubernetes: NodeResourcesFit scoringStrategy MostAllocated on "
     "nvidia.com/gpu",
     kAgain},
    {"stop_idle", "Stop or release idle GPUs", Axis::kTime, Pool::kIdle,
     "runs of 15 minutes or more at 0 % on all GPUs of a job", "short pauses, and GPUs with working peers",
     "release what is empty; end what holds the rest",
     "record again; idle_held_gpu_hours and idle_empty_gpu_hours must fall"},
    {"autoscale", "Scale to the load", Axis::kTime, Pool::kIdle, "idle stretches of a service", "steady load",
     "scale to zero: KEDA or Knative on queue length", kAgain},
    {"overlap_copies", "Overlap copies with compute", Axis::kTime, Pool::kCopy, "exposed copies near the link's speed",
     "copies hidden already", "a copy stream, double buffering", kTrace},
    {"quantize_weights", "Quantise weights", Axis::kTime, Pool::kCopy, "weights streamed over the link",
     "weights that stay on the device", "8-bit or 4-bit weights (bitsandbytes, GPTQ, AWQ)", kAgain},
    {"reduce_offload", "Offload less", Axis::kTime, Pool::kCopy, "offloading that dominates the step", "no offloading",
     "DeepSpeed ZeRO stage down, fewer offloaded layers", kAgain},
    {"smaller_micro_batch", "Smaller micro-batch", Axis::kTime, Pool::kMemory, "allocator retries at full memory",
     "a steady allocator", "micro-batch / 2 with gradient accumulation x 2", kAgain},
    {"bucketing", "Batches of samples of similar length", Axis::kTime, Pool::kCompute, "padding in the batches",
     "samples of one length", "TrainingArguments(group_by_length=True)", kAgain},
    {"packing", "Pack short samples into one sequence", Axis::kTime, Pool::kCompute, "padding in the batches",
     "samples of one length, or attention without boundaries between samples", "SFTConfig(packing=True)", kAgain},
    {"discard_warmup", "Leave the warm-up out of the profile", Axis::kTime, Pool::kStart,
     "first use in the captured window", "steady steps with the same share",
     "torch.profiler.schedule(wait=1, warmup=3, active=20): record after the first steps",
     "profile after ten steps; first_use must be gone"},
    {"preload", "Load kernels before the first step", Axis::kTime, Pool::kStart,
     "first launches that load their kernels", "a process that starts once and runs for days",
     "run one step on dummy data at the start; CUDA_MODULE_LOADING=EAGER loads all kernels at once",
     "time from start to the first step"},
    {"compile_cache", "Keep compiled kernels between runs", Axis::kTime, Pool::kStart,
     "compilers or tuners at work in the captured window", "kernels that change in every run",
     "TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR, MIOPEN_USER_DB_PATH on storage that outlives the job",
     "time from start to the first step of the second run"},
    {"aot", "Compile ahead of time", Axis::kTime, Pool::kStart, "compilers at work in the captured window",
     "shapes that are not known ahead", "torch._inductor.aoti_compile_and_package once, load the result at the start",
     "time from start to the first step"},
    {"caching_allocator", "An allocator that keeps memory", Axis::kTime, Pool::kMemory,
     "calls that take and return memory while the device is idle", "an allocator that keeps it already",
     "no torch.cuda.empty_cache() in the loop, no PYTORCH_NO_CUDA_MEMORY_CACHING; "
     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
     kTrace},
    {"warm_pool", "Keep workspaces of libraries", Axis::kTime, Pool::kMemory,
     "calls that take and return memory while the device is idle", "workspaces that are kept already",
     "take workspaces once at the start and pass them to each call", kTrace},
    {"async_offload", "Copy to the host in the background", Axis::kTime, Pool::kCopy,
     "large copies to the host that the device waits for", "copies that compute hides",
     "copy on a side stream into pinned memory: tensor.to('cpu', non_blocking=True), wait an iteration later", kTrace},
    {"keep_on_device", "Keep results on the device", Axis::kTime, Pool::kCopy,
     "large copies to the host that the device waits for", "results that only the host can use",
     "compute metrics on the device, copy their sums once an epoch", kTrace},
    {"spot", "Spot capacity", Axis::kRate, Pool::kNone, "a spot price of the same instance, and a job that can restart",
     "a job without checkpoints", "the same instance as spot, with checkpoints", "the bill: price per GPU-hour"},
    {"reserved", "Reserved or committed capacity", Axis::kRate, Pool::kNone,
     "steady use over the term and a committed price", "use that comes and goes",
     "commit only to hours that are always in use", "the bill: unused commitment must stay 0"},
    {"right_size_region", "A cheaper region or provider", Axis::kRate, Pool::kNone,
     "a lower price of the same GPU elsewhere", "data that may not or cannot move",
     "rent the same GPU where it is cheaper; add the cost of data transfer", "the bill: price per GPU-hour"},
});

}  // namespace

std::span<const Lever> Levers() { return kLevers; }

const Lever& LeverById(std::string_view id) {
  const auto* found = std::find_if(kLevers.begin(), kLevers.end(), [&](const Lever& l) { return l.id == id; });
  CHECK(found != kLevers.end());
  return *found;
}

namespace {

// Thresholds of activity, in micro-percent. Tensor cores this active already compute matrix products in low
// precision.
constexpr double kTensorInUse = 10.0 * kPercent;
// DRAM this active limits the kernels: it saturates near 80 %.
constexpr double kMemoryBound = 50.0 * kPercent;
// A job with at most this share of its GPU's memory leaves room for another job, and fits a smaller GPU.
constexpr double kLeavesRoom = 0.5;

// Whether a material share of the run is starved in bursts. Faster GPUs would wait longer.
bool Starved(const Scene& scene) { return scene.Share(BurstNs(scene)) >= kMaterialShare; }

// Whether utilization is the only busy counter of the run. One resident kernel then looks like full work.
bool UtilizationAlone(const Scene& scene) {
  if (scene.trace != nullptr) return false;  // a trace shows the kernels themselves
  return std::all_of(scene.run.devices.begin(), scene.run.devices.end(), [](const DeviceResult& d) {
    return d.totals.sm_active.ns == 0 && d.totals.tensor_active.ns == 0 && d.totals.gr_engine.ns == 0;
  });
}

// Why faster computing must not be advised: nothing proves that these GPUs compute.
std::string NotKnownToCompute(const Scene& scene) {
  if (WaitsWhileBusy(scene)) return "the GPUs wait while they look busy: faster arithmetic would only wait longer";
  if (Starved(scene)) return "the GPU is starved in bursts: faster arithmetic would only wait longer";
  if (UtilizationAlone(scene)) {
    return scene.BusyCounter() + " alone cannot tell work from a resident kernel; read SM or tensor activity first";
  }
  if (CannotTellWork(scene)) {
    return "the GPUs look busy, and no reading shows that they work: faster arithmetic may only wait longer";
  }
  return "";
}

// Every Against function returns a reason or an empty string. Mixed precision is refuted if matrix products use
// the tensor cores already.
std::string AgainstMixedPrecision(const Scene& scene) {
  std::string why = NotKnownToCompute(scene);
  if (!why.empty()) return why;
  return std::any_of(scene.run.devices.begin(), scene.run.devices.end(), UsesTensorCores)
             ? "tensor activity of 10 % or more: matrix products use the tensor cores already"
             : "";
}

// FP8 is the next step after mixed precision. It needs tensor activity, and a GPU that has FP8. Every GPU that
// computes must fulfil both, because a job uses one precision.
std::string AgainstFp8(const Scene& scene) {
  std::string why = NotKnownToCompute(scene);
  if (!why.empty()) return why;
  const char* const kNotInUse = "no reading of tensor activity is 10 % or more: start with mixed_precision";
  bool computes = false;
  for (const DeviceResult& d : scene.run.devices) {
    if (BackedComputeNs(d) == 0) continue;
    if (!UsesTensorCores(d)) return kNotInUse;
    const std::optional<GpuFacts> facts = FactsFor(scene.devices[d.device].name);
    if (!facts || !facts->fp8_tflops) return "idleburn does not know of FP8 on '" + scene.devices[d.device].name + "'";
    computes = true;
  }
  return computes ? "" : kNotInUse;  // a trace alone has no tensor activity
}

// Whether a device is known to be AMD's: by its name, by the source that read it, or by the calls in its trace. An
// unknown device is none.
bool IsAmd(const Scene& scene, const Device& device) {
  const std::optional<GpuFacts> facts = FactsFor(device.name);
  const auto names_amd = [](std::string_view name) { return StartsWithIgnoreCase(name, "AMD "); };
  if (names_amd(device.name) || (facts && std::any_of(facts->names.begin(), facts->names.end(), names_amd)))
    return true;
  const auto by_rocm = [](const std::string& counter) { return counter.rfind("rocm_smi.", 0) == 0; };
  if (std::any_of(device.counter.begin(), device.counter.end(), by_rocm)) return true;
  const auto calls_hip = [](const DeviceDiagnosis& d) { return d.facts.count("hip_runtime") > 0; };
  return scene.traced_only && scene.trace != nullptr &&
         std::all_of(scene.trace->devices.begin(), scene.trace->devices.end(), calls_hip);
}

// The peak memory share of each working GPU, if it was read.
std::vector<double> MemoryOfWorkers(const Scene& scene) {
  std::vector<double> shares;
  for (const DeviceResult& d : scene.run.devices) {
    const std::optional<double> share = d.totals.PeakMemoryShare();
    if (share && BusyPhasesNs(d.totals) > 0) shares.push_back(*share);
  }
  if (scene.trace == nullptr) return shares;
  for (const DeviceDiagnosis& d : scene.trace->devices) {
    if (d.memory_held) shares.push_back(*d.memory_held);
  }
  return shares;
}

// A larger batch needs memory. One full GPU is enough to refute it, because all ranks use the same batch.
std::string AgainstLargerBatch(const Scene& scene) {
  const std::vector<double> shares = MemoryOfWorkers(scene);
  const bool full = std::any_of(shares.begin(), shares.end(), [](double share) { return share >= kMemoryFull; });
  return full ? "memory is 90 % full: a larger batch would not fit" : "";
}

// A job that is starved in bursts needs the whole GPU during each burst. A second job would slow it down.
std::string AgainstSharing(const Scene& scene) {
  return Starved(scene) ? "one job is starved in bursts on this GPU: a second job would take its bursts, not its gaps"
                        : "";
}

// MIG also needs a board that supports it and is not divided yet.
std::string AgainstMig(const Scene& scene) {
  std::string why = AgainstSharing(scene);
  if (!why.empty()) return why;
  const bool possible = std::any_of(scene.run.devices.begin(), scene.run.devices.end(), [&](const DeviceResult& d) {
    const Device& device = scene.devices[d.device];
    return !device.mig && !device.has_instances && MigSlices(device.name).has_value();
  });
  return possible ? "" : "no GPU of this run is known to support MIG and to be undivided";
}

// Packing jobs onto fewer GPUs needs at least two.
std::string AgainstPacking(const Scene& scene) {
  return scene.cost.gpus < 2 ? "one GPU in the window: nothing to pack" : "";
}

// Autoscaling follows a load, so some GPU must have both worked and been idle for long.
std::string AgainstAutoscale(const Scene& scene) {
  const bool comes_and_goes = std::any_of(
      scene.run.devices.begin(), scene.run.devices.end(),
      [&](const DeviceResult& d) { return BusyPhasesNs(d.totals) > 0 && FindIdleStretches(d.totals).TotalNs() > 0; });
  return comes_and_goes ? "" : "no GPU both worked and was idle for long in this window: there is no load to follow";
}

// Whether a condition holds for the rate of every GPU.
template <typename Holds>
bool AllRates(const CostReport& cost, Holds holds) {
  return !cost.rates.empty() && std::all_of(cost.rates.begin(), cost.rates.end(),
                                            [&](const CostReport::RateUse& use) { return holds(use.rate); });
}

// Owned hardware has no hourly price to lower.
bool IsOwned(const Scene& scene) {
  return AllRates(scene.cost, [](const Rate& rate) { return rate.kind == RateKind::kOwned; });
}

// A price that is a spot price already cannot become cheaper by spot.
std::string AgainstSpot(const Scene& scene) {
  if (IsOwned(scene)) return "the hardware is owned";
  const auto is_spot = [](const Rate& rate) { return rate.key.find(":spot@") != std::string::npos; };
  return AllRates(scene.cost, is_spot) ? "the price is already a spot price" : "";
}

// A contract and a reserved price are commitments already.
std::string AgainstReserved(const Scene& scene) {
  if (IsOwned(scene)) return "the hardware is owned";
  const bool committed = AllRates(scene.cost, [](const Rate& rate) {
    return rate.kind == RateKind::kContract || rate.key.find(":reserved@") != std::string::npos;
  });
  return committed ? "the price is already a committed price" : "";
}

// Owned hardware does not move to another region.
std::string AgainstMoving(const Scene& scene) { return IsOwned(scene) ? "the hardware is owned" : ""; }

// A straggler needs peers: other GPUs in use, or a collective in a trace.
std::string AgainstFixingStraggler(const Scene& scene) {
  const auto used = std::count_if(scene.run.devices.begin(), scene.run.devices.end(),
                                  [](const DeviceResult& d) { return TakesPart(d.totals); });
  const auto traced = scene.trace == nullptr ? 0 : std::ssize(scene.trace->devices);
  if (std::max(used, traced) != 1) return "";
  const bool peers =
      traced > 0 && std::any_of(scene.trace->devices.begin(), scene.trace->devices.end(), [](const auto& device) {
        return device.budgets.front().comm_ns > 0 || device.Deciding().comm_ns > 0;
      });
  return peers ? "" : "one device without peers in this data, so it shows no late rank";
}

// A reason against a lever: a function that returns it as a sentence.
struct Refuter {
  std::string_view lever;
  std::string (*why_not)(const Scene& scene);
};
// A lever may have several rows; the first that speaks wins.
constexpr auto kRefuters = std::to_array<Refuter>({
    {"dali", AgainstOtherVendors},
    {"larger_batch", AgainstLargerBatch},
    {"mixed_precision", AgainstMixedPrecision},
    {"fp8", AgainstFp8},
    {"fix_straggler", AgainstFixingStraggler},
    {"power_cap_or_cooling", AgainstOtherVendors},
    {"larger_gpu", NotKnownToCompute},
    {"mig", AgainstOtherVendors},
    {"mig", AgainstMig},
    {"mps", AgainstOtherVendors},
    {"mps", AgainstSharing},
    {"smaller_gpu", AgainstSharing},
    {"bin_packing", AgainstPacking},
    {"autoscale", AgainstAutoscale},
    {"spot", AgainstSpot},
    {"reserved", AgainstReserved},
    {"right_size_region", AgainstMoving},
});

// Whether the cause, or a better counter than utilization, proves that the GPUs compute.
bool SeenToCompute(const Scene& scene, std::string_view cause) {
  return cause == "compute_bound" || std::any_of(scene.run.devices.begin(), scene.run.devices.end(),
                                                 [](const DeviceResult& d) { return BackedComputeNs(d) > 0; });
}

// Whether launches take longer than short kernels, or DRAM limits kernels while the tensor cores are idle.
bool SeenShortKernels(const Scene& scene, std::string_view cause) {
  return cause == "launch_bound" ||
         std::any_of(scene.run.devices.begin(), scene.run.devices.end(), [](const DeviceResult& d) {
           return d.totals.dram_active.Mean().value_or(0) >= kMemoryBound && !UsesTensorCores(d);
         });
}

// Whether some job is known to leave half of its GPU's memory free.
bool SeenSmallJob(const Scene& scene, std::string_view /*cause*/) {
  const std::vector<double> shares = MemoryOfWorkers(scene);
  return std::any_of(shares.begin(), shares.end(), [](double share) { return share <= kLeavesRoom; });
}

// The mean size of copies to the host in the trace; absent without any.
std::optional<double> ToHostBytes(const Scene& scene) {
  if (scene.trace == nullptr) return std::nullopt;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  for (const DeviceDiagnosis& d : scene.trace->devices) {
    for (const CopyFigures& copy : d.Deciding().copies) {
      if (copy.kind != CopyKind::kDtoH) continue;
      count += copy.count;
      bytes += copy.bytes;
    }
  }
  return count == 0 ? std::nullopt : std::optional(static_cast<double>(bytes) / static_cast<double>(count));
}

// Whether copies to the host carry data, and not single values that a log or a condition asks for.
bool SeenLargeToHost(const Scene& scene, std::string_view cause) {
  constexpr double kLarge = 1e6;
  return cause != "d2h" || ToHostBytes(scene).value_or(0) >= kLarge;
}
bool SeenSmallToHost(const Scene& scene, std::string_view cause) {
  return cause != "d2h" || !SeenLargeToHost(scene, cause);
}

// What a run must show before a lever is advised, besides its cause.
struct Evidence {
  std::string_view lever;
  bool (*seen)(const Scene& scene, std::string_view cause);
};
// Levers without a row need only their cause.
constexpr auto kEvidence = std::to_array<Evidence>({
    {"mixed_precision", SeenToCompute},
    {"fused_kernels", SeenShortKernels},
    {"mps", SeenSmallJob},
    {"mig", SeenSmallJob},
    {"smaller_gpu", SeenSmallJob},
    {"remove_syncs", SeenSmallToHost},
    {"async_offload", SeenLargeToHost},
    {"keep_on_device", SeenLargeToHost},
    {"async_checkpoint", SeenLargeToHost},
});

// Whether a notebook held a GPU, by the name of a process, an owner (JupyterHub names pods jupyter-USER) or the
// command.
bool SawNotebook(const Scene& scene) {
  const std::vector<CostReport::DeviceCost>& all = scene.cost.devices;
  return IsNotebook(scene.machine.command) || std::any_of(all.begin(), all.end(), [&](const auto& d) {
           return scene.devices[d.device].notebook || std::any_of(d.owners.begin(), d.owners.end(), IsNotebook);
         });
}

// An addition to a lever's `how` for runs that show its use.
struct HowAlso {
  std::string_view lever;
  bool (*seen)(const Scene& scene);
  std::string_view how;
};
constexpr auto kHowAlso = std::to_array<HowAlso>({
    {"stop_idle", SawNotebook,
     "cull notebooks: jupyter lab --MappingKernelManager.cull_idle_timeout=600 "
     "--MappingKernelManager.cull_connected=True"},
});

}  // namespace

std::string HowTo(const Scene& scene, const Lever& lever) {
  std::string how(lever.how);
  if (scene.trace != nullptr && !scene.trace->devices.empty()) {
    how = FrameworkHow(scene.trace->devices.front().framework, lever.id).value_or(lever.how);
  }
  for (const HowAlso& row : kHowAlso) {
    if (row.lever == lever.id && row.seen(scene)) how += "; " + std::string(row.how);
  }
  return how;
}

bool UsesTensorCores(const DeviceResult& d) { return d.totals.tensor_active.Mean().value_or(0) >= kTensorInUse; }

std::string AgainstOtherVendors(const Scene& scene) {
  const std::vector<DeviceResult>& all = scene.run.devices;
  const bool none = !all.empty() && std::all_of(all.begin(), all.end(), [&](const DeviceResult& d) {
    return IsAmd(scene, scene.devices[d.device]);
  });
  return none ? "it needs NVIDIA GPUs, and this run has AMD GPUs" : "";
}

bool WaitsWhileBusy(const Scene& scene) { return scene.Share(scene.cost.whole.spin_wait_ns) >= kMaterialShare; }

std::string WhyNot(const Scene& scene, std::string_view lever) {
  for (const Refuter& row : kRefuters) {
    if (row.lever != lever) continue;
    if (std::string why = row.why_not(scene); !why.empty()) return why;
  }
  return "";
}

bool IsShown(const Scene& scene, std::string_view lever, std::string_view cause) {
  return std::all_of(kEvidence.begin(), kEvidence.end(),
                     [&](const Evidence& row) { return row.lever != lever || row.seen(scene, cause); });
}

}  // namespace idleburn
