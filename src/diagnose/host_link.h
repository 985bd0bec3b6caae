#pragma once

#include <optional>
#include <string_view>

namespace idleburn {

// What the link between host and device carries in one direction at most, GB/s (10^9), by what the profiler calls the
// device; absent for models not in the table.
std::optional<double> HostLinkGBs(std::string_view model);

}  // namespace idleburn
