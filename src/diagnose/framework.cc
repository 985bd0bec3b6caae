#include "diagnose/framework.h"

#include <algorithm>
#include <array>
#include <string>

namespace idleburn {
namespace {

// Parts of names that only one framework writes. The first row that any name of the file has counts, so frameworks that
// run on others stand first.
struct FrameworkSign {
  std::string_view part;
  Framework framework;
};
constexpr auto kFrameworkSigns = std::to_array<FrameworkSign>({
    {"vllm", Framework::kVllm},
    {"sglang", Framework::kSglang},
    {"[pl]", Framework::kLightning},
    {"lightning/pytorch", Framework::kLightning},
    {"pytorch_lightning", Framework::kLightning},
    {"transformers/trainer.py", Framework::kHuggingFace},
    {"accelerate/", Framework::kHuggingFace},
    {"PjitFunction", Framework::kJax},
    {"jax/_src", Framework::kJax},
    {"jaxlib", Framework::kJax},
    {"IteratorGetNext", Framework::kTensorFlow},
    {"tensorflow", Framework::kTensorFlow},
    {"aten::", Framework::kPyTorch},
    {"at::native::", Framework::kPyTorch},
    {"torch/", Framework::kPyTorch},
    {"OpenACC", Framework::kOpenAcc},
    {"acc_enqueue", Framework::kOpenAcc},
    {"nvkernel_", Framework::kOpenAcc},         // OpenMP offload by the same compiler
    {"__omp_offloading", Framework::kOpenAcc},  // by LLVM's
});

}  // namespace

std::string_view Name(Framework framework) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"PyTorch", "PyTorch Lightning", "Hugging Face", "vLLM", "SGLang", "JAX",
                                       "TensorFlow", "OpenACC or OpenMP", "HIP", "CUDA", "unknown"});
  return kNames[static_cast<std::size_t>(framework)];
}

Framework FindFramework(const Profile& profile) {
  std::size_t best = kFrameworkSigns.size();
  for (const std::string& name : profile.names) {
    for (std::size_t i = 0; i < best; ++i) {
      if (name.find(kFrameworkSigns[i].part) != std::string::npos) best = i;
    }
  }
  if (best < kFrameworkSigns.size()) return kFrameworkSigns[best].framework;
  if (profile.kind == ProfilerKind::kPyTorch) return Framework::kPyTorch;
  if (profile.kind == ProfilerKind::kXla) return Framework::kJax;
  if (profile.kind == ProfilerKind::kRocprof || profile.facts.count("hip_runtime") > 0) return Framework::kHip;
  return profile.kind == ProfilerKind::kNsight ? Framework::kCuda : Framework::kUnknown;
}

}  // namespace idleburn
