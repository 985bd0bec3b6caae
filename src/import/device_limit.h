#pragma once

#include <cstddef>
#include <string>

namespace idleburn {

// More GPUs than one file is of: the column that is taken for their name holds something else.
inline constexpr std::size_t kMaxDevices = 20'000;
inline std::string TooManyDevices(const std::string& column) {
  return "column '" + column + "' names more than " + std::to_string(kMaxDevices) + " GPUs; check --columns gpu=";
}

}  // namespace idleburn
