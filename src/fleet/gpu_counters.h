#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/counter_pieces.h"
#include "fleet/engine.h"

// Reads the live counters of the agents' GPUs and their memory gauges from an engine.
//
// A counter is read at both ends of a piece, five minutes back at most. So a week of 10,000 GPUs takes two values of
// each counter, and not its 40,000 samples. Only nodes that were not scraped at an end are read as a whole, by their
// extremes. Memory needs the highest sample, which the engine finds, a day at a time.
namespace idleburn {

// One GPU or MIG instance of a node in the window.
struct GpuCounterSum {
  GpuCounterValues rise{};
  std::optional<std::int64_t> memory_peak;   // bytes: the highest sample; a peak between two scrapes is not seen
  std::optional<std::int64_t> memory_total;  // bytes
  bool instance = false;                     // of MIG
};

struct GpuCountersRead {
  std::map<GpuOnNode, GpuCounterSum> gpus;
  std::int64_t lost_states = 0;      // epochs that began while another one was shown
  std::vector<std::string> missing;  // nodes that are not in `gpus`, and why
};

// Reads [from, to), Unix seconds. A question that is too much for the engine is asked in halves: of its nodes, then of
// its time. Fails if the engine is gone, or lets the smallest questions run out of time again and again. Without
// agents that show these counters the result is empty.
Result<GpuCountersRead> ReadGpuCounters(Engine& engine, std::int64_t from, std::int64_t to);

}  // namespace idleburn
