// Which software a trace is of. Advice is a line of code, so it must be in the language of the reader's framework.

#pragma once

#include <cstdint>
#include <string_view>

#include "profile/profile.h"

namespace idleburn {

enum class Framework : std::uint8_t {
  kPyTorch,
  kLightning,    // PyTorch Lightning
  kHuggingFace,  // Trainer of transformers, or accelerate
  kVllm,
  kSglang,
  kJax,
  kTensorFlow,
  kOpenAcc,  // OpenMP too: both are pragmas of a compiler
  kHip,      // without a framework
  kCuda,     // the same
  kUnknown
};
std::string_view Name(Framework framework);

// By the names in the file: operators, annotations, frames and kernels. A framework on top of another one counts as
// itself. kUnknown if no name tells, and the calls are neither CUDA's nor HIP's.
Framework FindFramework(const Profile& profile);

}  // namespace idleburn
