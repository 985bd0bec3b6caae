#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// What is published of a GPU model (data/gpus.csv). A fact that no source states is absent.
struct GpuFacts {
  std::string gpu;                             // the product, as the price catalogue calls it: "H100-80GB-SXM"
  std::vector<std::string> names;              // as drivers and exporters print it
  std::optional<std::int64_t> power_limit_mw;  // the board's default limit
  std::optional<std::int64_t> max_sm_khz;
  std::optional<std::int64_t> memory_gb;
  std::optional<std::int64_t> half_tflops;         // dense bf16 peak (fp16 where the part has no bf16)
  std::optional<std::int64_t> fp8_tflops;          // dense
  std::optional<std::int64_t> nvlink_bytes_per_s;  // all NVLinks, both directions together
  std::optional<std::int64_t> nvlinks;             // that move it
  std::string source;
};

// The facts of a GPU as a driver, an exporter or the price catalogue names it ("NVIDIA H100 80GB HBM3",
// "Tesla T4", "H100-80GB-SXM", "NVIDIA A100-SXM4-40GB MIG 1g.5gb"). Nothing for a model that is not listed: never
// those of a neighbour.
std::optional<GpuFacts> FactsFor(std::string_view name);

// Every model known.
std::span<const GpuFacts> AllGpuFacts();

// A GPU name without what does not tell models apart: vendor words, case, separators, a MIG suffix.
std::string NormalGpuName(std::string_view name);

}  // namespace idleburn
