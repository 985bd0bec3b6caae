#include "recommend/try_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "recommend/lever_table.h"
#include "telemetry/gpu_facts.h"
#include "telemetry/mig_boards.h"

namespace idleburn {
namespace {

constexpr double kFits = 0.85;  // of a smaller GPU's memory
constexpr std::size_t kSmallerNamed = 3;

std::string FirstWord(std::string_view gpu_name) {
  const std::string name = NormalGpuName(gpu_name);
  return name.substr(0, name.find(' '));
}

template <std::size_t N>
bool IsOf(const std::array<std::string_view, N>& families, std::string_view gpu_name) {
  return std::find(families.begin(), families.end(), FirstWord(gpu_name)) != families.end();
}

// Hopper, Blackwell, Ada in data centres, CDNA 3: of some forms no peak is listed.
constexpr auto kFp8Families =
    std::to_array<std::string_view>({"h100", "h200", "h800", "h20", "gh200", "b100", "b200", "b300", "gb200", "gb300",
                                     "l4", "l40", "l40s", "mi300x", "mi325x"});
constexpr auto kNoBf16 = std::to_array<std::string_view>({"v100", "t4", "p100", "p40", "p4", "k80", "m60"});

// Equal instances of a board: profile ids as `nvidia-smi mig -lgip` prints them.
struct MigCut {
  std::string_view family;
  std::string_view small;  // instances of the smallest profile
  double small_memory;     // share of the board's memory that each has
  std::string_view half;   // two instances of half the memory each
};
constexpr std::string_view kSevenOnes = "19,19,19,19,19,19,19";
constexpr auto kMigCuts = std::to_array<MigCut>({
    {"a100", kSevenOnes, 0.125, "9,9"},
    {"a800", kSevenOnes, 0.125, "9,9"},
    {"h100", kSevenOnes, 0.125, "9,9"},
    {"h200", kSevenOnes, 0.125, "9,9"},
    {"h800", kSevenOnes, 0.125, "9,9"},
    {"a30", "14,14,14,14", 0.25, "5,5"},
});

bool SameVendor(const GpuFacts& a, const GpuFacts& b) {
  const auto amd = [](const GpuFacts& facts) { return facts.gpu.starts_with("MI"); };
  return amd(a) == amd(b);
}

}  // namespace

bool HasFp8(std::string_view gpu_name) {
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  return (facts && facts->fp8_tflops) || IsOf(kFp8Families, gpu_name);
}

std::optional<double> Fp8Speedup(std::string_view gpu_name) {
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  if (!facts || !facts->fp8_tflops || !facts->half_tflops) return std::nullopt;
  return static_cast<double>(*facts->fp8_tflops) / static_cast<double>(*facts->half_tflops);
}

std::string MixedPrecisionSettings(std::string_view gpu_name) {
  if (IsOf(kNoBf16, gpu_name)) {
    return "with torch.autocast(\"cuda\", dtype=torch.float16): loss = ..., and torch.amp.GradScaler(\"cuda\"): this "
           "GPU "
           "has no bf16";
  }
  if (FactsFor(gpu_name)) return "with torch.autocast(\"cuda\", dtype=torch.bfloat16): loss = ...; no scaler needed";
  return std::string(LeverOf("mixed_precision").how);
}

std::string MigSettings(std::string_view gpu_name, std::optional<double> memory_peak, const std::string& index) {
  const std::string enable = fmt::format("nvidia-smi -i {} -mig 1 while the GPU is idle; ", index);
  const auto* cut =
      std::find_if(kMigCuts.begin(), kMigCuts.end(), [&](const MigCut& c) { return c.family == FirstWord(gpu_name); });
  if (cut == kMigCuts.end()) {
    return enable + fmt::format("nvidia-smi mig -lgip lists its profiles; nvidia-smi mig -i {} -cgi PROFILE -C", index);
  }
  const bool small = memory_peak && *memory_peak <= kFits * cut->small_memory;
  return enable + fmt::format("nvidia-smi mig -i {} -cgi {} -C: {}; one job an instance", index,
                              small ? cut->small : cut->half,
                              small ? "the smallest instances" : "two instances, each with half the memory");
}

std::optional<std::vector<std::string>> SmallerGpus(std::string_view gpu_name, double memory_bytes) {
  constexpr double kGigabyte = 1e9;
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  if (!facts || !facts->half_tflops) return std::nullopt;
  std::vector<const GpuFacts*> fitting;
  for (const GpuFacts& other : AllGpuFacts()) {
    if (!other.half_tflops || !other.memory_gb || !SameVendor(*facts, other)) continue;
    const bool fits = static_cast<double>(*other.memory_gb) * kGigabyte * kFits >= memory_bytes;
    if (fits && *other.half_tflops < *facts->half_tflops) fitting.push_back(&other);
  }
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const GpuFacts* a, const GpuFacts* b) { return *a->half_tflops > *b->half_tflops; });
  fitting.resize(std::min(fitting.size(), kSmallerNamed));
  std::vector<std::string> names;
  for (const GpuFacts* other : fitting) names.push_back(other->gpu);
  return names;
}

}  // namespace idleburn
