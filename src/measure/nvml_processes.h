#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/nvml_abi.h"

namespace idleburn {

// Room in which a driver lists processes, and what it wrote there. Drivers 535.43 to 535.86 write records of 32 bytes
// under the name and version of those of 24, so there is room for the longer ones always, and how long they are is read
// from how far the driver wrote.
class ProcessRoom {
 public:
  explicit ProcessRoom(std::uint32_t entries);

  // For one call of GetComputeRunningProcesses and its like, versions 2 and 3.
  [[nodiscard]] nvml::ProcessInfo* Address() { return reinterpret_cast<nvml::ProcessInfo*>(words_.data()); }
  // The `count` records that the driver says it wrote; absent if they are of no length that is known.
  [[nodiscard]] std::optional<std::vector<nvml::ProcessInfo>> Read(std::uint32_t count) const;

 private:
  std::uint32_t entries_;
  std::vector<std::uint64_t> words_;
};

}  // namespace idleburn
