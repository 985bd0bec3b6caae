#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "report/display.h"

namespace idleburn {

// A part of the bill. The slices are the phases, with idle time by who held the GPU and spin-wait apart from the rest
// of compute_bound, and what was unobserved or unallocated: each GPU-nanosecond is in one.
struct BillSlice {
  std::string_view id;    // "idle_held", "compute_bound", "unobserved"
  std::string_view name;  // "idle, held by a process"
  std::int64_t ns = 0;
  std::optional<Money> cost;  // absent without a price
  std::int64_t shown_ns = 0;  // as its table shows them: they add up to the table's total
  Money shown_cost;
};

// Those that are not empty, and the four phases in any case; in the order of the phases.
std::vector<BillSlice> SlicesOf(const UsageCost& usage, const HourColumn& hours,
                                const std::optional<CostColumn>& costs);

}  // namespace idleburn
