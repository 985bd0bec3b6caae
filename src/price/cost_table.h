#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "price/gpu_time.h"

namespace idleburn {

using CostLines = std::array<std::int64_t, kLineCount>;  // nano-units on each line of the bill

// The costs of the lines, a total split by their time, split over the devices, so that what the devices sum to is the
// total split by their time, both by largest remainder. A cell is its exact part of the total rounded down or up. Only
// where no such table has both sums does a cell take another billionth, and one without time only where no other can.
Result<std::vector<CostLines>> SplitOverDevices(const CostLines& lines, std::span<const DeviceTime> devices);

}  // namespace idleburn
