#include "recommend/framework_how.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

struct HowRow {
  std::string_view lever;
  Framework framework;
  std::string_view how;
};

// Names of arguments, flags and variables as the documents of each framework have them.
constexpr auto kHows = std::to_array<HowRow>({
    {"num_workers", Framework::kHuggingFace, "TrainingArguments(dataloader_num_workers=N)"},
    {"num_workers", Framework::kTensorFlow, "dataset.map(f, num_parallel_calls=tf.data.AUTOTUNE)"},
    {"num_workers", Framework::kJax, "the loader's workers: grain.MultiprocessingOptions(num_workers=N)"},
    {"persistent_workers", Framework::kHuggingFace, "TrainingArguments(dataloader_persistent_workers=True)"},
    {"prefetch", Framework::kHuggingFace, "TrainingArguments(dataloader_prefetch_factor=4)"},
    {"prefetch", Framework::kTensorFlow, "dataset.prefetch(tf.data.AUTOTUNE) as the last step of the pipeline"},
    {"prefetch", Framework::kJax, "jax.device_put of the next batch before the step of this one"},
    {"prefetch", Framework::kCuda, "cudaMemcpyAsync of the next input on a second stream"},
    {"prefetch", Framework::kHip, "hipMemcpyAsync of the next input on a second stream"},
    {"pin_memory", Framework::kHuggingFace, "TrainingArguments(dataloader_pin_memory=True)"},
    {"pin_memory", Framework::kCuda, "cudaMallocHost for the source of copies"},
    {"pin_memory", Framework::kHip, "hipHostMalloc for the source of copies"},
    {"pin_memory", Framework::kOpenAcc, "nvc -gpu=pinned, and one data region around the loop"},
    {"non_blocking_copies", Framework::kCuda, "cudaMemcpyAsync from pinned memory on a stream of its own"},
    {"non_blocking_copies", Framework::kHip, "hipMemcpyAsync from pinned memory on a stream of its own"},
    {"non_blocking_copies", Framework::kOpenAcc, "async(n) on data and kernels constructs, wait before use"},
    {"dali", Framework::kJax, "NVIDIA DALI pipeline (nvidia.dali.plugin.jax)"},
    {"dali", Framework::kTensorFlow, "NVIDIA DALI pipeline (nvidia.dali.plugin.tf)"},
    {"cache_dataset", Framework::kTensorFlow, "dataset.cache(FILE) behind the decoding"},
    {"larger_batch", Framework::kLightning, "batch_size x 2 in the DataLoader, learning rate adapted"},
    {"larger_batch", Framework::kVllm, "vllm serve --max-num-seqs N x 2, if requests wait"},
    {"larger_batch", Framework::kSglang, "--max-running-requests N x 2, if requests wait"},
    {"larger_batch", Framework::kJax, "batch x 2 in one jax.jit, learning rate adapted"},
    {"larger_batch", Framework::kTensorFlow, "dataset.batch(N x 2), learning rate adapted"},
    {"larger_batch", Framework::kCuda, "more work in each kernel: larger grids, fewer launches"},
    {"larger_batch", Framework::kHip, "more work in each kernel: larger grids, fewer launches"},
    {"larger_batch", Framework::kOpenAcc, "collapse loops into one kernels construct"},
    {"cuda_graphs", Framework::kVllm, "without --enforce-eager; --cuda-graph-sizes up to the batch in use"},
    {"cuda_graphs", Framework::kSglang, "without --disable-cuda-graph; --cuda-graph-max-bs up to the batch in use"},
    {"cuda_graphs", Framework::kJax, "no Python loop over steps: jax.lax.scan inside one jax.jit"},
    {"cuda_graphs", Framework::kTensorFlow, "tf.function(jit_compile=True) around the whole step"},
    {"cuda_graphs", Framework::kCuda, "cudaStreamBeginCapture once, cudaGraphLaunch in the loop"},
    {"cuda_graphs", Framework::kHip, "hipStreamBeginCapture once, hipGraphLaunch in the loop"},
    {"fused_kernels", Framework::kJax, "one jax.jit around the step: XLA then fuses it"},
    {"fused_kernels", Framework::kTensorFlow, "tf.function(jit_compile=True)"},
    {"fused_kernels", Framework::kVllm, "vllm serve --compilation-config with torch.compile at its default level"},
    {"mixed_precision", Framework::kHuggingFace,
     "TrainingArguments(bf16=True); fp16=True before compute capability 8.0"},
    {"mixed_precision", Framework::kLightning, "Trainer(precision='bf16-mixed')"},
    {"mixed_precision", Framework::kJax, "parameters in float32, computation in jax.numpy.bfloat16 (jmp)"},
    {"mixed_precision", Framework::kTensorFlow, "keras.mixed_precision.set_global_policy('mixed_bfloat16')"},
    {"gradient_accumulation", Framework::kHuggingFace, "TrainingArguments(gradient_accumulation_steps=2)"},
    {"gradient_accumulation", Framework::kLightning, "Trainer(accumulate_grad_batches=2)"},
    {"gradient_accumulation", Framework::kJax, "optax.MultiSteps(optimizer, every_k_schedule=2)"},
    {"overlap_communication", Framework::kJax, "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true"},
    {"overlap_communication", Framework::kHuggingFace, "TrainingArguments(ddp_bucket_cap_mb=N)"},
    {"overlap_communication", Framework::kCuda, "collectives on a stream of their own, beside the kernels"},
    {"remove_syncs", Framework::kHuggingFace, "TrainingArguments(logging_steps=N)"},
    {"remove_syncs", Framework::kLightning, "Trainer(log_every_n_steps=N), no self.log(..., prog_bar=True) each step"},
    {"remove_syncs", Framework::kJax, "no float(), print() or block_until_ready() in the loop; log every N steps"},
    {"remove_syncs", Framework::kTensorFlow, "no .numpy() in the loop; log every N steps"},
    {"remove_syncs", Framework::kCuda, "events and cudaStreamWaitEvent instead of cudaDeviceSynchronize"},
    {"remove_syncs", Framework::kHip, "events and hipStreamWaitEvent instead of hipDeviceSynchronize"},
    {"remove_syncs", Framework::kOpenAcc, "async(n) on constructs, one wait at the end"},
    {"async_checkpoint", Framework::kJax, "orbax.checkpoint.AsyncCheckpointer"},
    {"async_checkpoint", Framework::kTensorFlow,
     "tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True)"},
    {"gradient_checkpointing", Framework::kJax, "jax.checkpoint around each layer"},
    {"caching_allocator", Framework::kJax, "XLA_PYTHON_CLIENT_PREALLOCATE left at true"},
    {"caching_allocator", Framework::kTensorFlow, "TF_GPU_ALLOCATOR=cuda_malloc_async"},
    {"caching_allocator", Framework::kCuda, "cudaMallocAsync, with cudaMemPoolAttrReleaseThreshold above 0"},
    {"caching_allocator", Framework::kHip, "hipMallocAsync, with hipMemPoolAttrReleaseThreshold above 0"},
    {"caching_allocator", Framework::kOpenAcc, "one data region around the loop instead of one in it"},
    {"discard_warmup", Framework::kJax, "jax.profiler.start_trace after the first steps"},
    {"discard_warmup", Framework::kTensorFlow, "tf.profiler.experimental.start after the first steps"},
    {"discard_warmup", Framework::kCuda, "nsys profile --delay SECONDS, or --capture-range=cudaProfilerApi"},
    {"discard_warmup", Framework::kHip, "start recording after the first iterations"},
    {"discard_warmup", Framework::kOpenAcc, "nsys profile --delay SECONDS"},
    {"compile_cache", Framework::kJax, "JAX_COMPILATION_CACHE_DIR on storage that outlives the job"},
    {"compile_cache", Framework::kCuda, "CUDA_CACHE_PATH on storage that outlives the job"},
    {"compile_cache", Framework::kVllm, "VLLM_CACHE_ROOT on storage that outlives the server"},
    {"aot", Framework::kJax, "jax.jit(f).lower(...).compile() before the loop"},
    {"aot", Framework::kCuda, "nvcc -arch=sm_NN for the GPUs in use, instead of PTX"},
    {"aot", Framework::kHip, "--offload-arch=gfxNNN for the GPUs in use"},
    {"async_offload", Framework::kJax, "array.copy_to_host_async(), read an iteration later"},
    {"async_offload", Framework::kCuda, "cudaMemcpyAsync into pinned memory on a second stream"},
    {"async_offload", Framework::kHip, "hipMemcpyAsync into pinned memory on a second stream"},
    {"async_offload", Framework::kOpenAcc, "update self(...) async(n), wait an iteration later"},
    {"keep_on_device", Framework::kOpenAcc, "one data region around the loop, update self only where needed"},
});

// Levers whose own text is a line of PyTorch.
constexpr auto kPyTorchOnly = std::to_array<std::string_view>({"num_workers",
                                                               "persistent_workers",
                                                               "prefetch",
                                                               "pin_memory",
                                                               "non_blocking_copies",
                                                               "pretokenize",
                                                               "mixed_precision",
                                                               "fp8",
                                                               "fused_kernels",
                                                               "cuda_graphs",
                                                               "gradient_accumulation",
                                                               "overlap_communication",
                                                               "remove_syncs",
                                                               "async_checkpoint",
                                                               "gradient_checkpointing",
                                                               "caching_allocator",
                                                               "discard_warmup",
                                                               "compile_cache",
                                                               "aot",
                                                               "async_offload",
                                                               "keep_on_device",
                                                               "dali",
                                                               "larger_batch"});

// Frameworks that run on PyTorch take its lines where they have none of their own.
bool RunsOnPyTorch(Framework framework) {
  return framework == Framework::kPyTorch || framework == Framework::kLightning ||
         framework == Framework::kHuggingFace || framework == Framework::kVllm || framework == Framework::kSglang ||
         framework == Framework::kUnknown;
}

}  // namespace

std::optional<std::string_view> FrameworkHow(Framework framework, std::string_view lever) {
  const auto* const row = std::find_if(
      kHows.begin(), kHows.end(), [&](const HowRow& how) { return how.framework == framework && how.lever == lever; });
  if (row != kHows.end()) return row->how;
  if (RunsOnPyTorch(framework)) return std::nullopt;
  const bool foreign = std::find(kPyTorchOnly.begin(), kPyTorchOnly.end(), lever) != kPyTorchOnly.end();
  return foreign ? std::optional(std::string_view()) : std::nullopt;
}

}  // namespace idleburn
