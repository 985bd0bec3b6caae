#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace idleburn {

// What a GPU can do at most, for estimates. Dense rates of vendors' data sheets, without sparsity.
struct GpuRate {
  std::string_view gpu;    // as data/gpus.csv calls it
  std::string_view names;  // other spellings, "|" between them, as NormalGpuName writes them
  double memory_gib = 0;   // what the driver reports as usable, or the label less 4 % where no reading is known
  double watts = 0;        // its power limit
  double wide_tflops = 0;  // of fp32 numbers: TF32, else fp32
  double half_tflops = 0;
  double fp8_tflops = 0;        // 0: none
  double fp4_tflops = 0;        // 0: none
  double bandwidth_gbs = 0;     // of its memory
  double link_gbs = 0;          // between GPUs of a node, one direction
  double half_mamf_tflops = 0;  // largest matmul rate measured; 0: unknown
  double fp8_mamf_tflops = 0;
};

std::optional<GpuRate> RateOf(std::string_view gpu);
std::span<const GpuRate> AllGpuRates();

inline constexpr double kNodeLinkGbs = 200;  // between nodes: a 1600 Gbit/s fabric, which a node's GPUs share

// The number format of a run's matmuls, as far as it decides the peak.
enum class MatmulFormat { kHalf, kFp8, kFp4, kWide };

// The dense peak in FLOP/s; where the GPU lacks the format, that of the next wider one.
double PeakFlops(const GpuRate& gpu, MatmulFormat format);
// The largest rate believed possible: measured (MAMF), else 0.9 of the peak.
double CeilingFlops(const GpuRate& gpu, MatmulFormat format);
// The rate that large matmuls are expected to reach: measured (MAMF), else the share of the peak that is usual.
double SustainedFlops(const GpuRate& gpu, MatmulFormat format);

}  // namespace idleburn
