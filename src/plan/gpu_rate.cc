#include "plan/gpu_rate.h"

#include <algorithm>
#include <array>
#include <string>

#include "telemetry/gpu_facts.h"

namespace idleburn {
namespace {

constexpr double kUsualShare = 0.75;  // of the peak, among the measured rates of data-centre GPUs
constexpr double kUsualFp4Share = 0.5;
constexpr double kUnmeasuredShare = 0.9;  // of the peak, where no matmul rate was measured (planning.md section 3.7)

// Peaks and matmul rates: stas00/ml-engineering, compute/accelerator. Bandwidth and links: vendor data sheets. Usable
// memory: readings of the driver where one is known (RTX 4090 24,564 MiB, H100 81,559, H200 143,771).
constexpr std::array<GpuRate, 31> kRates = {{
    {"V100-16GB-SXM", "v100 16gb|v100", "volta", 15.8, 125, 0, 0, 900, 150, 0, 0},
    {"V100-32GB-SXM", "v100 32gb", "volta", 31.7, 125, 0, 0, 900, 150, 0, 0},
    {"T4-16GB", "t4", "turing", 15.0, 65, 0, 0, 320, 16, 0, 0},
    {"A100-40GB-SXM", "a100 40gb|a100 40g", "a100", 39.6, 312, 0, 0, 1555, 300, 271.2, 0},
    {"A100-80GB-SXM", "a100 80gb|a100|a100 80g|a100 sxm|dgx a100|a800", "a100", 80.0, 312, 0, 0, 2039, 300, 271.2, 0},
    {"A100-80GB-PCIe", "", "a100", 80.0, 312, 0, 0, 1935, 32, 252.9, 0},
    {"A10-24GB", "a10", "a10", 22.5, 125, 0, 0, 600, 32, 0, 0},
    {"A10G-24GB", "a10g", "a10", 22.5, 70, 0, 0, 600, 32, 0, 0},
    {"A6000", "rtx a6000|a6000 ampere", "ampere", 48.0, 155, 0, 0, 768, 32, 0, 0},
    {"RTX-A5000", "a5000|rtx a5000", "ampere", 24.0, 111, 0, 0, 768, 32, 0, 0},
    {"RTX-3090", "rtx3090|geforce rtx 3090", "ampere", 24.0, 71, 0, 0, 936, 16, 0, 0},
    {"RTX-4090", "rtx4090|geforce rtx 4090", "ada", 23.99, 165, 330, 0, 1008, 16, 0, 0},
    {"RTX6000-Ada", "a6000 ada|rtx 6000 ada", "ada", 48.0, 364, 728, 0, 960, 32, 0, 0},
    {"L4-24GB", "l4", "ada", 22.5, 121, 242, 0, 300, 32, 0, 0},
    {"L40S-48GB", "l40s", "ada", 45.0, 362, 733, 0, 864, 32, 0, 0},
    {"H100-80GB-SXM", "h100 80gb|h100|dgx h100|h100 sxm|h100 sxm5|h100 80g|h800", "h100", 79.65, 989, 1979, 0, 3350,
     450, 794.5, 1402.6},
    {"H100-80GB-PCIe", "h100 pcie", "h100", 79.65, 756, 1513, 0, 2000, 64, 0, 0},
    {"H100-94GB-NVL", "h100 nvl", "h100", 93.6, 835, 1671, 0, 3900, 300, 0, 0},
    // Not measured: the matmul rates of the part of 700 W, less what 500 W leave of its clocks.
    {"H100-96GB-500W", "h100 96gb 500w|h100 96gb", "h100", 95.0, 989, 1979, 0, 2400, 450, 670, 1190},
    {"H200-141GB", "h200 141gb|h200|dgx h200|h200 sxm", "h100", 140.4, 989, 1979, 0, 4800, 450, 794.5, 1453.4},
    {"GH200", "gh200", "h100", 94.5, 989, 1979, 0, 4000, 450, 828.6, 1535},
    {"B200-180GB", "b200|dgx b200", "blackwell", 178, 2250, 4500, 9000, 8000, 900, 1745, 3432.5},
    {"B300", "b300|dgx b300", "blackwell", 275, 2250, 4500, 15000, 8000, 900, 1769, 3353.3},
    {"GB200", "gb200|dgx gb200", "blackwell", 184, 2500, 5000, 10000, 8000, 900, 1822, 3615.6},
    {"GB300", "gb300|dgx gb300", "blackwell", 277, 2500, 5000, 15000, 8000, 900, 0, 0},
    {"MI300X-192GB", "mi300x", "mi300", 191.5, 1300, 2610, 0, 5300, 448, 668.4, 0},
    {"MI325X-256GB", "mi325x", "mi300", 255, 1300, 2610, 0, 6000, 448, 784.9, 0},
    {"RTX-3080", "rtx3080", "ampere", 9.8, 59, 0, 0, 760, 16, 0, 0},
    {"RTX-2080-SUPER", "rtx2080super", "turing", 7.8, 45, 0, 0, 496, 16, 0, 0},
    {"V100-16GB-PCIe", "", "volta", 15.8, 112, 0, 0, 900, 16, 0, 0},
    {"V100-32GB-PCIe", "", "volta", 31.7, 112, 0, 0, 900, 16, 0, 0},
}};

bool Spells(const GpuRate& rate, const std::string& wanted) {
  if (NormalGpuName(rate.gpu) == wanted) return true;
  std::string_view names = rate.names;
  while (!names.empty()) {
    const std::size_t bar = std::min(names.find('|'), names.size());
    if (names.substr(0, bar) == wanted) return true;
    names.remove_prefix(std::min(bar + 1, names.size()));
  }
  return false;
}

constexpr double kTera = 1e12;

}  // namespace

std::span<const GpuRate> AllGpuRates() { return kRates; }

std::optional<GpuRate> RateOf(std::string_view gpu) {
  const std::string wanted = NormalGpuName(gpu);
  for (const GpuRate& rate : kRates) {
    if (Spells(rate, wanted)) return rate;
  }
  const std::optional<GpuFacts> facts = FactsFor(gpu);  // as drivers print it
  if (!facts) return std::nullopt;
  for (const GpuRate& rate : kRates) {
    if (rate.gpu == facts->gpu) return rate;
  }
  return std::nullopt;
}

double PeakFlops(const GpuRate& gpu, MatmulFormat format) {
  if (format == MatmulFormat::kFp4 && gpu.fp4_tflops > 0) return gpu.fp4_tflops * kTera;
  if (format != MatmulFormat::kHalf && gpu.fp8_tflops > 0) return gpu.fp8_tflops * kTera;
  return gpu.half_tflops * kTera;
}

namespace {

double MeasuredFlops(const GpuRate& gpu, MatmulFormat format) {
  return kTera * (format == MatmulFormat::kHalf  ? gpu.half_mamf_tflops
                  : format == MatmulFormat::kFp8 ? gpu.fp8_mamf_tflops
                                                 : 0);
}

}  // namespace

double CeilingFlops(const GpuRate& gpu, MatmulFormat format) {
  const double measured = MeasuredFlops(gpu, format);
  return measured > 0 ? measured : kUnmeasuredShare * PeakFlops(gpu, format);
}

double SustainedFlops(const GpuRate& gpu, MatmulFormat format) {
  const double measured = MeasuredFlops(gpu, format);
  if (measured > 0) return measured;
  const bool fp4 = format == MatmulFormat::kFp4 && gpu.fp4_tflops > 0;
  return (fp4 ? kUsualFp4Share : kUsualShare) * PeakFlops(gpu, format);
}

}  // namespace idleburn
