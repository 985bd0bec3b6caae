#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "fleet/fleet_report.h"
#include "fleet/gpu_counters.h"
#include "fleet/node_packing.h"
#include "price/catalogue.h"

// Which GPUs a smaller GPU or a MIG slice would replace, as far as memory and utilization tell.
namespace idleburn {

// A slice of a board: how many fit on it, and its share of the board's compute and memory.
struct MigSliceSize {
  std::string profile;  // "1g"
  std::int64_t instances = 1;
  std::int64_t compute = 1;  // of compute_of
  std::int64_t compute_of = 1;
  std::int64_t memory = 1;  // of memory_of
  std::int64_t memory_of = 1;
};

// The smallest slice of that model that holds the peak with the headroom, and that would be busy for at most all of the
// time. `busy_share` is of the whole board, 0 to 1. Absent if none does or the model has no such slices.
std::optional<MigSliceSize> SliceFor(const std::string& model, std::int64_t peak_bytes, std::int64_t total_bytes,
                                     double busy_share);

// Groups the candidates by kind, model, target and owner. A GPU is judged if its memory was read, its model is known,
// 95 % of its time was observed, it worked, and it is no MIG instance. The upper bound of its utilization counts. A
// smaller GPU must have the peak compute that this share of the own one has. A slice must have that share of compute,
// and the GPU must have moved no data over NVLink. Fails if an amount is more than Money holds.
// `use` is UseOf(read, report).
Result<FleetRightSizing> RightSizingOf(const GpuCountersRead& read, const FleetGpuUse& use, const FleetReport& report,
                                       const std::map<std::string, PackedNode>& owners, const Catalogue& catalogue);

}  // namespace idleburn
