#pragma once

#include <string>
#include <vector>

#include "measure/nvml_library.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// A board to be described.
struct BoardHandle {
  nvml::Device handle = nullptr;
  std::string uuid;
  std::string index;  // "0"
};

// What boards are and how they hang together, as facts: "cuda", of each "gpu.UUID.vbios", the generation and width of
// its PCIe link as it is and at most, its NVLinks that are up, and "gpu.topology" of their pairs. What a driver does
// not tell is left out.
std::vector<RunFact> DescribeBoards(NvmlLibrary& nvml, const std::vector<BoardHandle>& boards);

}  // namespace idleburn
