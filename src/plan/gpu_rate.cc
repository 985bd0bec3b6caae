#include "plan/gpu_rate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>
#include <vector>

#include "telemetry/gpu_facts.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// The table of rates and how a name finds its row. Exact spellings are tried first, then what drivers print, and words
// last: words are lenient, so they must not win over a spelling that is known.

namespace {

// Words beside a GPU's name that tell no models apart: vendors, kinds of memory, machines that hold them.
constexpr std::array<std::string_view, 28> kNoise = {
    "nvidia", "amd", "tesla", "instinct", "geforce", "quadro", "gpu",    "gpus",   "tensor", "core",
    "dgx",    "hgx", "oam",   "hbm2",     "hbm2e",   "hbm3",   "hbm3e",  "gddr6",  "gddr6x", "gddr7",
    "gb",     "ram", "vram",  "memory",   "nvl72",   "nvl36",  "server", "edition"};
// Forms of NVIDIA's module; all of them are one form here.
constexpr std::array<std::string_view, 6> kMezzanine = {"sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6"};

// Whether the word tells no models apart.
bool IsNoise(std::string_view word) { return std::find(kNoise.begin(), kNoise.end(), word) != kNoise.end(); }

// Runs of letters, digits and points, in lower case.
std::vector<std::string> WordsOfName(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (IsAlnum(c) || c == '.') {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// The number before a unit: 80 of "80gb". It is 0 if the word is no such number.
double MemoryIn(const std::string& word) {
  for (const std::string_view unit : {"gib", "gb", "g"}) {
    if (word.size() <= unit.size() || !word.ends_with(unit)) continue;
    return static_cast<double>(ParseInteger(word.substr(0, word.size() - unit.size())).value_or(0));
  }
  return 0;
}

// Takes "8x", "8 x" or "8*" from the front.
double TakeCount(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  const std::optional<std::int64_t> count = ParseInteger(text.substr(0, end));
  const std::string_view rest = Trim(text.substr(end));
  if (!count || *count < 1 || rest.size() < 2 || (rest[0] != 'x' && rest[0] != 'X' && rest[0] != '*')) return 0;
  text = Trim(rest.substr(1));
  return static_cast<double>(*count);
}

// Takes "x8" or " x 8" from the end.
double TakeCountBehind(std::string_view& text) {
  std::size_t start = text.size();
  while (start > 0 && IsDigit(text[start - 1])) --start;
  const std::optional<std::int64_t> count = ParseInteger(text.substr(start));
  const std::string_view rest = Trim(text.substr(0, start));
  if (!count || *count < 1 || rest.size() < 3) return 0;
  const char last = rest.back();
  const char before = rest[rest.size() - 2];
  const bool times = (last == 'x' || last == 'X' || last == '*') && (before == ' ' || before == ')' || IsDigit(before));
  if (!times) return 0;
  text = Trim(rest.substr(0, rest.size() - 1));
  return static_cast<double>(*count);
}

}  // namespace

GpuWords GpuWordsOf(std::string_view name) {
  GpuWords said;
  const std::vector<std::string> words = WordsOfName(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool apart = i + 1 < words.size() && (words[i + 1] == "gb" || words[i + 1] == "gib");  // "80 GB"
    const double memory = MemoryIn(apart ? words[i] + "gb" : words[i]);
    if (memory > 0) {
      said.memory_gb = memory;
    } else if (std::find(kMezzanine.begin(), kMezzanine.end(), words[i]) != kMezzanine.end()) {
      said.form = "sxm";
    } else if (words[i] == "pcie" || words[i] == "nvl") {
      said.form = words[i];
    } else if (!IsNoise(words[i])) {
      said.family += words[i];
    }
  }
  if (said.family.size() > 3 && said.family.starts_with("rtx")) said.family.erase(0, 3);  // "3090"
  return said;
}

CountedGpu CountedGpuOf(std::string_view text) {
  CountedGpu counted;
  std::string_view rest = Trim(text);
  // Counts multiply: "2x8xH100" is two machines of eight.
  for (double count = TakeCount(rest); count > 0; count = TakeCount(rest))
    counted.count = std::max(1.0, counted.count) * count;
  if (counted.count == 0) counted.count = TakeCountBehind(rest);
  counted.gpu = rest;
  return counted;
}

namespace {

// Shares of the peak where no matmul rate was measured: the most that is believed (engineering value), and the usual
// one. Large matmuls of data-centre GPUs are held back by their power limit. A card with watts to spare for its tensor
// cores comes near to its peak (cuBLAS on an L20 reaches 0.96 of it, an RTX 5060 Ti 0.99).
constexpr double kUnmeasuredShare = 0.9;
constexpr double kUsualShare = 0.75;
constexpr double kUsualFp4Share = 0.5;
constexpr double kSpareWatts = 0.55;  // peak TFLOP/s a watt, below which there are some

// Peaks and matmul rates come from stas00/ml-engineering, compute/accelerator. What it lacks, bandwidth and links come
// from data sheets of NVIDIA and AMD; for GeForce cards that is the architecture's white paper, with tensor cores that
// add up in fp32. Usable memory is a reading of the driver where one is known (RTX 4090 24,564 MiB, RTX 5090 32,607,
// H100 81,559, H20 97,871, H200 143,771). A framework sees half a module of MI250 or MI250X as one GPU.
constexpr std::array<GpuRate, 48> kRates = {{
    {"V100-16GB-SXM", "v100 16gb|v100", 15.8, 300, 15.7, 125, 0, 0, 900, 150, 0, 0},
    {"V100-32GB-SXM", "v100 32gb", 31.7, 300, 15.7, 125, 0, 0, 900, 150, 0, 0},
    {"T4-16GB", "t4", 15.0, 70, 8.1, 65, 0, 0, 320, 16, 0, 0},
    {"A100-40GB-SXM", "a100 40gb|a100 40g", 39.6, 400, 156, 312, 0, 0, 1555, 300, 271.2, 0},
    {"A100-80GB-SXM", "a100 80gb|a100|a100 80g|a100 sxm|dgx a100|a800", 80.0, 400, 156, 312, 0, 0, 2039, 300, 271.2, 0},
    {"A100-80GB-PCIe", "", 80.0, 300, 156, 312, 0, 0, 1935, 32, 252.9, 0},
    {"A10-24GB", "a10", 22.5, 150, 62.5, 125, 0, 0, 600, 32, 0, 0},
    {"A10G-24GB", "a10g", 22.5, 300, 35, 70, 0, 0, 600, 32, 0, 0},
    {"A6000", "rtx a6000|a6000 ampere", 48.0, 300, 77.4, 155, 0, 0, 768, 32, 0, 0},
    {"RTX-A5000", "a5000|rtx a5000", 24.0, 230, 55.6, 111, 0, 0, 768, 32, 0, 0},
    {"RTX-3090", "rtx3090|geforce rtx 3090", 24.0, 350, 35.6, 71, 0, 0, 936, 16, 0, 0},
    {"RTX-4090", "rtx4090|geforce rtx 4090", 23.99, 450, 82.6, 165, 330, 0, 1008, 16, 0, 0},
    {"RTX6000-Ada", "a6000 ada|rtx 6000 ada", 48.0, 300, 182.1, 364, 728, 0, 960, 32, 0, 0},
    {"L4-24GB", "l4", 22.5, 72, 60, 121, 242, 0, 300, 32, 0, 0},
    {"L40S-48GB", "l40s", 45.0, 350, 183, 362, 733, 0, 864, 32, 0, 0},
    {"H100-80GB-SXM", "h100 80gb|h100|dgx h100|h100 sxm|h100 sxm5|h100 80g|h800", 79.65, 700, 494.5, 989, 1979, 0, 3350,
     450, 794.5, 1402.6},
    {"H100-80GB-PCIe", "h100 pcie", 79.65, 350, 378, 756, 1513, 0, 2000, 64, 0, 0},
    {"H100-94GB-NVL", "h100 nvl", 93.6, 400, 417.5, 835, 1671, 0, 3900, 300, 0, 0},
    // Not measured: the matmul rates of the part of 700 W, less what 500 W leave of its clocks.
    {"H100-96GB-500W", "h100 96gb 500w|h100 96gb", 95.0, 500, 494.5, 989, 1979, 0, 2400, 450, 670, 1190},
    {"H200-141GB", "h200 141gb|h200|dgx h200|h200 sxm", 140.4, 700, 494.5, 989, 1979, 0, 4800, 450, 794.5, 1453.4},
    {"GH200", "gh200", 94.5, 700, 494.5, 989, 1979, 0, 4000, 450, 828.6, 1535},
    {"B200-180GB", "b200|dgx b200", 178, 1000, 1125, 2250, 4500, 9000, 8000, 900, 1745, 3432.5},
    {"B300", "b300|dgx b300", 275, 1400, 1125, 2250, 4500, 15000, 8000, 900, 1769, 3353.3},
    {"GB200", "gb200|dgx gb200", 184, 1200, 1250, 2500, 5000, 10000, 8000, 900, 1822, 3615.6},
    {"GB300", "gb300|dgx gb300", 277, 1400, 1250, 2500, 5000, 15000, 8000, 900, 0, 0},
    {"MI300X-192GB", "mi300x", 191.5, 750, 653.7, 1300, 2610, 0, 5300, 448, 668.4, 0},
    {"MI325X-256GB", "mi325x", 255, 1000, 653.7, 1300, 2610, 0, 6000, 448, 784.9, 0},
    {"RTX-3080", "rtx3080", 9.8, 320, 29.8, 59, 0, 0, 760, 16, 0, 0},
    {"RTX-2080-SUPER", "rtx2080super", 7.8, 250, 11.2, 45, 0, 0, 496, 16, 0, 0},
    {"V100-16GB-PCIe", "", 15.8, 250, 14, 112, 0, 0, 900, 16, 0, 0},
    {"V100-32GB-PCIe", "", 31.7, 250, 14, 112, 0, 0, 900, 16, 0, 0},
    {"A100-40GB-PCIe", "", 39.6, 250, 156, 312, 0, 0, 1555, 32, 0, 0},
    {"A40-48GB", "a40", 45.0, 300, 74.8, 149.7, 0, 0, 696, 32, 0, 0},
    {"A30-24GB", "a30", 23.6, 165, 82, 165, 0, 0, 933, 32, 0, 0},
    {"RTX-A4000", "a4000|rtx a4000", 15.7, 140, 38.3, 76.7, 0, 0, 448, 32, 0, 0},
    {"RTX-3090-TI", "", 24.0, 450, 40, 80, 0, 0, 1008, 16, 0, 0},
    {"RTX-2080-TI", "", 10.8, 250, 13.4, 53.8, 0, 0, 616, 16, 0, 0},
    {"RTX-4080", "", 15.99, 320, 48.7, 97.5, 195, 0, 717, 16, 0, 0},
    {"RTX-5080", "", 15.9, 360, 56.3, 112.6, 225.1, 900.4, 960, 32, 0, 0},
    {"RTX-5090", "", 31.84, 575, 104.8, 209.5, 419, 1676, 1792, 32, 0, 0},
    {"RTX-PRO-6000-Blackwell", "rtx pro 6000", 95.6, 600, 252, 503.8, 1007.6, 2015, 1792, 64, 0, 0},
    {"L20-48GB", "l20", 44.9, 275, 59.8, 119.5, 239, 0, 864, 32, 0, 0},
    {"H20-96GB", "h20", 95.6, 400, 74, 148, 296, 0, 4000, 450, 0, 0},
    {"MI210-64GB", "mi210", 63.9, 300, 45.3, 181, 0, 0, 1638, 100, 0, 0},
    {"MI250-GCD", "mi250|mi250 128gb", 63.9, 280, 45.3, 181, 0, 0, 1638, 100, 0, 0},
    {"MI250X-GCD", "mi250x|mi250x 128gb", 63.9, 280, 47.9, 191.5, 0, 0, 1638, 100, 0, 0},
    {"MI350X-288GB", "mi350x", 287, 1000, 144.2, 2300, 4600, 9200, 8000, 537, 0, 0},
    {"MI355X-288GB", "mi355x", 287, 1400, 157.3, 2500, 5000, 10100, 8000, 537, 1565, 0},
}};

// Whether the row is spelled so, by its own name or by one of its other names.
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

// The first row that the words of a name do not contradict.
std::optional<GpuRate> RateInWords(std::string_view gpu) {
  constexpr double kLabelOff = 0.1;  // of a label to what the driver reports
  // Form and memory decide only where they are said.
  const GpuWords wanted = GpuWordsOf(gpu);
  for (const GpuRate& rate : kRates) {
    const GpuWords words = GpuWordsOf(rate.gpu);
    const bool form = wanted.form.empty() || words.form.empty() || wanted.form == words.form;
    const bool memory = wanted.memory_gb == 0 || std::abs(rate.memory_gib / wanted.memory_gb - 1) < kLabelOff;
    if (!wanted.family.empty() && wanted.family == words.family && form && memory) return rate;
  }
  return std::nullopt;
}

// The largest matmul rate measured in that format; 0 where nobody has published one.
double MeasuredFlops(const GpuRate& gpu, MatmulFormat format) {
  return kTera * (format == MatmulFormat::kHalf  ? gpu.half_mamf_tflops
                  : format == MatmulFormat::kFp8 ? gpu.fp8_mamf_tflops
                                                 : 0);
}

}  // namespace

std::span<const GpuRate> AllGpuRates() { return kRates; }

std::optional<GpuRate> RateOf(std::string_view gpu) {
  const std::string wanted = NormalGpuName(gpu);
  for (const GpuRate& rate : kRates) {
    if (Spells(rate, wanted)) return rate;
  }
  const std::optional<GpuFacts> facts = FactsFor(gpu);  // as drivers print it
  // A driver's name is not one of the table's spellings, but telemetry knows it.
  if (!facts) return RateInWords(gpu);
  for (const GpuRate& rate : kRates) {
    if (rate.gpu == facts->gpu) return rate;
  }
  return std::nullopt;
}

double PeakFlops(const GpuRate& gpu, MatmulFormat format) {
  if (format == MatmulFormat::kWide) return gpu.wide_tflops * kTera;
  // A GPU without the format computes in the next wider one.
  if (format == MatmulFormat::kFp4 && gpu.fp4_tflops > 0) return gpu.fp4_tflops * kTera;
  if (format != MatmulFormat::kHalf && gpu.fp8_tflops > 0) return gpu.fp8_tflops * kTera;
  return gpu.half_tflops * kTera;
}

double CeilingFlops(const GpuRate& gpu, MatmulFormat format) {
  const double measured = MeasuredFlops(gpu, format);
  return measured > 0 ? measured : kUnmeasuredShare * PeakFlops(gpu, format);
}

double SustainedFlops(const GpuRate& gpu, MatmulFormat format) {
  const double measured = MeasuredFlops(gpu, format);
  if (measured > 0) return measured;
  const double peak = PeakFlops(gpu, format);
  // A card with watts to spare keeps its clocks, so it comes near to its peak.
  if (peak < kSpareWatts * kTera * gpu.watts) return kUnmeasuredShare * peak;
  return (format == MatmulFormat::kFp4 && gpu.fp4_tflops > 0 ? kUsualFp4Share : kUsualShare) * peak;
}

}  // namespace idleburn
