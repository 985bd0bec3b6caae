#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// What a name says of a GPU, however it is written: "NVIDIA A100-SXM4-80GB" and "A100 80 GB SXM" are the same.
struct GpuWords {
  std::string family;    // "a100", "6000ada"; what tells models apart
  std::string form;      // "sxm", "pcie", "nvl"; empty if not said
  double memory_gb = 0;  // 0 if not said
};
GpuWords GpuWordsOf(std::string_view name);

// "8xH100", "8 x H100 80GB", "H100 x8" are 8 GPUs, "2x8xH100" are 16; 0 where no number is said.
struct CountedGpu {
  double count = 0;
  std::string gpu;
};
CountedGpu CountedGpuOf(std::string_view text);

}  // namespace idleburn
