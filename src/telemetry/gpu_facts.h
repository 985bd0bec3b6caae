// What is published about GPU models: limits, peaks and MIG slices. Facts come from data sheets, never from
// measurements, and never from a similar model.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// Published facts about a GPU model (data/gpus.csv). A fact without a source is absent.
struct GpuFacts {
  // The product name in the price catalogue: "H100-80GB-SXM".
  std::string gpu;
  std::vector<std::string> names;              // as drivers and exporters print it
  std::optional<std::int64_t> power_limit_mw;  // default limit of the board
  std::optional<std::int64_t> max_sm_khz;
  std::optional<std::int64_t> memory_gb;
  // Dense bf16 peak (fp16 where the part has no bf16).
  std::optional<std::int64_t> half_tflops;
  std::optional<std::int64_t> fp8_tflops;  // dense
  std::optional<std::int64_t> memory_bytes_per_s;
  // All NVLinks together, both directions.
  std::optional<std::int64_t> nvlink_bytes_per_s;
  std::optional<std::int64_t> nvlinks;  // how many links carry that bandwidth
  std::string source;
};

// Looks up a GPU by the name that a driver, an exporter or the price catalogue uses ("NVIDIA H100 80GB HBM3",
// "Tesla T4", "H100-80GB-SXM", "NVIDIA A100-SXM4-40GB MIG 1g.5gb"). Absent for an unlisted model. It never
// falls back to a similar model, because a wrong limit would give a wrong diagnosis.
std::optional<GpuFacts> FactsFor(std::string_view name);

// All models of the table.
std::span<const GpuFacts> AllGpuFacts();

// Whether an owner of `gpu` may be told to rent the other model instead. Programs for one vendor's GPUs do not run on
// another's unchanged. NVIDIA's licence for the GeForce driver excludes data centres, so a GeForce replaces only a
// GeForce.
bool CanReplace(std::string_view gpu, const GpuFacts& other);

// Removes what does not identify a model: vendor words, case, separators and a MIG suffix. Example: "NVIDIA
// A100-SXM4-40GB MIG 1g.5gb" becomes "a100 sxm4 40gb".
std::string NormalGpuName(std::string_view name);

// Compute slices of a GPU by the name that a driver or exporter prints. Absent if the GPU is not known to
// support MIG.
std::optional<int> MigSlices(std::string_view gpu_name);

}  // namespace idleburn
