#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/fleet_ledger.h"
#include "fleet/fleet_report.h"

// How many nodes a perfect packing would free, as bounds from closed hours.
//
// An hour tells the GPU time that owners held on each node. Its mean, in GPUs, is at most what was held at once. So the
// busiest hour needs at least ceil(mean / GPUs of a node) nodes, and no packing frees more than the rest.
//
// Whole jobs need more. A job that takes over half of a node's GPU time in one hour holds over half of its GPUs, and
// holds them in the middle of the hour, if it holds the same GPUs without a break. So all such jobs hold their GPUs at
// one moment, and each needs a node of its own: of 8 GPUs, one with 8 for 35 minutes, or one with 5 for the hour.
namespace idleburn {

// A node in one hour, GPU-milliseconds.
struct PackedHour {
  std::int64_t capacity_ms = 0;  // of its GPUs
  std::int64_t held_ms = 0;      // by known owners
  std::int64_t unknown_ms = 0;   // without a known owner: perhaps not held
  std::int64_t largest_job_ms = 0;
};

struct PackedNode {
  std::vector<PackedHour> hours;   // of the window
  std::vector<std::string> teams;  // that held its GPUs, each once; two at most are kept
  std::vector<std::string> jobs;   // the same of jobs
};

// Hours of a window by node, from the ledger. A span of several hours is spread evenly, so its hours are means. Spans
// that reach over an end of the window are left out.
Result<std::map<std::string, PackedNode>> PackedHours(FleetLedger& ledger, std::int64_t from, std::int64_t to);

// The classes of nodes and their bounds. `report` has the model and cost of each GPU.
Result<FleetPacking> PackNodes(const std::map<std::string, PackedNode>& nodes, const FleetReport& report);

}  // namespace idleburn
