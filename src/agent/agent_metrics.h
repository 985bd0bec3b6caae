// The counters of a node as metric families (docs/agent.md, "Metrics"). Names and labels are a contract.

#pragma once

#include <string>
#include <vector>

#include "agent/node_meter.h"
#include "expose/exposition.h"

namespace idleburn {

// All families, in one order, each present from the start. `node` is the label of that name.
std::vector<MetricFamily> AgentFamilies(const NodeView& view, const std::string& node, const std::string& version);

// Seconds of counted units, exact to the microsecond and rounded down, so that they never step back.
MetricValue SecondsOf(std::int64_t units);

// The team and the jobs of a node as one JSON document, for /api/v1/jobs: names that no series carries.
std::string JobsJson(const NodeView& view, const std::string& node);

}  // namespace idleburn
