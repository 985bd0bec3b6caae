#pragma once

#include <optional>
#include <string_view>

namespace idleburn {

// Compute slices of a GPU as a driver or an exporter names it; nothing for one that is not known to be MIG-capable.
std::optional<int> MigSlices(std::string_view gpu_name);

}  // namespace idleburn
