#include "diagnose/record_again.h"

#include <array>
#include <cstddef>

namespace idleburn {

const RecordAgain& HowToRecord(ProfilerKind profiler) {
  // In the order of ProfilerKind.
  static constexpr auto kTools = std::to_array<RecordAgain>({
      {"torch.profiler", "ProfilerActivity.CUDA / kineto CUPTI",
       "torch.profiler with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
       "record again with Python frames (torch.profiler with_stack=True) to name the functions",
       "start recording a step earlier (torch.profiler schedule(warmup=1))"},
      {"nsys profile", "--trace=cuda", "nsys profile --trace=cuda,nvtx, then nsys export --type sqlite",
       "record again with NVTX ranges around the host's work (nsys profile --trace=cuda,nvtx,osrt; of PyTorch's "
       "operators: torch.autograd.profiler.emit_nvtx) to name it",
       "start recording a step earlier (nsys profile --delay, or cudaProfilerStart with "
       "--capture-range=cudaProfilerApi)"},
      {"the TensorFlow or JAX profiler", "device_tracer_level=1",
       "the TensorFlow or JAX profiler in a process that has the GPU, with device_tracer_level=1 in its options",
       "record again with Python frames (python_tracer_level=1 in the profiler's options) to name the functions",
       "start the TensorFlow or JAX profiler a step earlier"},
  });
  return kTools[static_cast<std::size_t>(profiler)];
}

}  // namespace idleburn
