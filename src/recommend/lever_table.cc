#include "recommend/lever_table.h"

#include <algorithm>

#include "base/check.h"

namespace idleburn {
namespace {

constexpr std::string_view kAgain = "record again for as long, then compare cost per step";
constexpr std::string_view kTrace = "profile 20 steps again; the cause's share of the step must fall";

constexpr auto kLevers = std::to_array<Lever>({
    {"num_workers", "More data-loader workers", Axis::kTime, Pool::kLoader,
     "idle time in the loader, and CPU cores to spare", "no free cores, or workers that wait for storage",
     "DataLoader(..., num_workers=N): start with the free cores per GPU", kTrace},
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
     "compute-bound by SM or tensor activity, in a higher precision", "utilization.gpu alone; an under-used GPU",
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
     "GPUs that are busy by the counter but do no work, while another lags", "SM activity or power that shows work",
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
     "runs of 15 minutes or more at 0 % on all GPUs of a job", "short pauses, and GPUs whose peers work meanwhile",
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
    {"spot", "Spot capacity", Axis::kRate, Pool::kNone, "a spot price of the same instance, and a job that can restart",
     "a job without checkpoints", "the same instance as spot, with checkpoints", "the bill: price per GPU-hour"},
    {"reserved", "Reserved or committed capacity", Axis::kRate, Pool::kNone,
     "steady use over the term and a committed price", "use that comes and goes",
     "commit to the hours that are always used, no more", "the bill: unused commitment must stay 0"},
    {"right_size_region", "A cheaper region or provider", Axis::kRate, Pool::kNone,
     "a lower price of the same GPU elsewhere", "data that may not or cannot move",
     "rent the same GPU where it is cheaper; count the transfer of data", "the bill: price per GPU-hour"},
});

}  // namespace

std::span<const Lever> Levers() { return kLevers; }

const Lever& LeverOf(std::string_view id) {
  const auto* found = std::find_if(kLevers.begin(), kLevers.end(), [&](const Lever& l) { return l.id == id; });
  CHECK(found != kLevers.end());
  return *found;
}

}  // namespace idleburn
