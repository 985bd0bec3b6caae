#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace idleburn {

// What GPUs can do, and the names they go by. Drivers, price catalogues, papers and people write one GPU in many ways,
// so every look-up goes through one reader of names. The rates are those of data sheets, because a plan is made before
// anything runs; where someone has measured large matmuls, that measurement decides what is believed.

// What a name says of a GPU, however it is written: "NVIDIA A100-SXM4-80GB" and "A100 80 GB SXM" are the same.
struct GpuWords {
  // What tells models apart: "a100", "6000ada".
  std::string family;
  // "sxm", "pcie" or "nvl"; empty if the name does not say it.
  std::string form;
  // Gigabytes; 0 if the name does not say them.
  double memory_gb = 0;
};

// Splits a name into those words. Letters are lower-cased, and vendors, memory types and machines are dropped. A name
// that says nothing gives an empty family.
GpuWords GpuWordsOf(std::string_view name);

// A name with the number of GPUs that it states: "8xH100", "8 x H100 80GB" and "H100 x8" are 8 GPUs, "2x8xH100" are 16.
// The count is 0 where no number is said.
struct CountedGpu {
  double count = 0;
  std::string gpu;
};

// Takes the number off the front or the end of a name; the rest is trimmed and otherwise unchanged.
CountedGpu CountedGpuOf(std::string_view text);

// Operations a second in a TFLOPS.
inline constexpr double kTera = 1e12;

// The most that a GPU can do, for estimates: dense rates of vendors' data sheets, without sparsity.
struct GpuRate {
  // The name in data/gpus.csv.
  std::string_view gpu;
  // Other spellings with "|" between them, as NormalGpuName writes them.
  std::string_view names;
  // What the driver reports as usable. Where no reading is known, it is the label less 4 %.
  double memory_gib = 0;
  // The power limit.
  double watts = 0;
  // The rate of fp32 numbers: TF32 where the GPU has it, else fp32.
  double wide_tflops = 0;
  double half_tflops = 0;
  // 0 where the GPU lacks the format; so for fp4.
  double fp8_tflops = 0;
  double fp4_tflops = 0;
  // Bandwidth of its memory.
  double bandwidth_gbs = 0;
  // Bandwidth to another GPU of the machine, one direction.
  double link_gbs = 0;
  // The largest matmul rates that were measured; 0 where nobody has.
  double half_mamf_tflops = 0;
  double fp8_mamf_tflops = 0;
};

// Finds a GPU by any of its names: the table's own spelling, another spelling, what a driver prints, or words that fit
// one row. Absent for a GPU that is not in the table.
std::optional<GpuRate> RateOf(std::string_view gpu);
// The whole table, in the order in which rows are tried.
std::span<const GpuRate> AllGpuRates();

// Bandwidth between machines in GB/s, one direction.
inline constexpr double kNodeLinkGbs = 200;  // between nodes: a 1600 Gbit/s fabric, which a node's GPUs share

// The number format of a run's matmuls, as far as it decides the peak.
enum class MatmulFormat { kHalf, kFp8, kFp4, kWide };

// The dense peak in FLOP/s. Where the GPU lacks the format, the next wider one counts.
double PeakFlops(const GpuRate& gpu, MatmulFormat format);
// The largest rate believed possible: measured (MAMF), else 0.9 of the peak.
double CeilingFlops(const GpuRate& gpu, MatmulFormat format);
// The rate that large matmuls are expected to reach: measured (MAMF), else the share of the peak that is usual.
double SustainedFlops(const GpuRate& gpu, MatmulFormat format);

}  // namespace idleburn
