#include "recommend/try_table.h"

#include <array>

namespace idleburn {
namespace {

using P = Pattern;
using R = Reach;

constexpr std::string_view kLoaderHow =
    "DataLoader(num_workers=8, prefetch_factor=4, persistent_workers=True, pin_memory=True); 8 stands for CPU cores / "
    "GPUs of the host";
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
    "run two of these jobs on one GPU for 30 minutes: both together must beat one after the other";
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
     "torch.profiler for 20 steps: time of Memcpy HtoD beside which no kernel runs"},
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
     "not in this log: whether somebody waits for the process that holds the GPU",
     "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv: ask its owner"},
    {P::kIdleHeavy, "autoscale", R::kIdleStretches,
     "KEDA ScaledObject: minReplicaCount: 0, cooldownPeriod: 300; Knative: autoscaling.knative.dev/min-scale: \"0\"",
     "not in this log: whether the load is a service that may start late",
     "requests per minute over a week beside this log: idle stretches have none"},
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
      "the idle time that somebody could have used", "all time that these GPUs were not busy",
      "the time not busy between their first and last work, without long idle stretches",
      "the busy time, if all of that work gets"};
  return kWords[static_cast<std::size_t>(r)];
}

std::span<const TryRow> TryRows() { return kRows; }

}  // namespace idleburn
