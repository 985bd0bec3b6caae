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
// total split by their time, both by largest remainder. A cell without time costs nothing. The others are their exact
// part of the total rounded down or up; where no such table has both sums, a billionth or so beside it; and where none
// has them at all, as when one device was only idle and another only busy, the lines' sums count.
Result<std::vector<CostLines>> SplitOverDevices(const CostLines& lines, std::span<const DeviceTime> devices);

}  // namespace idleburn
