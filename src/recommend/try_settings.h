#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// Settings that depend on the GPU, for the rows of the table of tries that leave theirs empty. GPUs are named as a
// driver prints them.

// Whether the GPU multiplies FP8 matrices: NVIDIA's from Ada and Hopper on, AMD's from CDNA 3 on. Not known: false.
bool HasFp8(std::string_view gpu_name);
// The peak of FP8 over that of bf16, where both are published.
std::optional<double> Fp8Speedup(std::string_view gpu_name);

// torch.autocast with bf16, or before compute capability 8.0 (no bf16 in hardware) with fp16 and a scaler.
std::string MixedPrecisionSettings(std::string_view gpu_name);

// The commands that cut the GPU into as many equal instances as hold `memory_peak` of its memory each. Profile ids are
// those of NVIDIA's MIG User Guide; where they are not known, the command that lists them. `index`: -i of nvidia-smi.
std::string MigSettings(std::string_view gpu_name, std::optional<double> memory_peak, const std::string& index);

// Models of the same vendor with a lower peak whose memory holds `memory_bytes` with 15 % to spare, the fastest first,
// three at most. Absent where nothing is known of the GPU itself.
std::optional<std::vector<std::string>> SmallerGpus(std::string_view gpu_name, double memory_bytes);

}  // namespace idleburn
