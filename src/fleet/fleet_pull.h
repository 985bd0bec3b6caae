#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/edge_queries.h"
#include "fleet/engine.h"
#include "fleet/fleet_ledger.h"

// Brings a ledger up to date with its engine: asks only for hours that it lacks, in parts that the engine can answer.
namespace idleburn {

struct PullRequest {
  std::int64_t first = 0;  // of a new ledger: the edge at which counting starts
  std::int64_t last = 0;   // the newest edge that is wanted; at most NewestEdge(now)
};

// What a reader of the answer must know of the pull.
struct PullOutcome {
  std::int64_t replicated_nodes = 0;  // told by several replicas
  std::vector<std::string> missing;   // parts that the engine did not answer: nodes, hours and why
  std::vector<std::string> wrong;     // nodes with counters that cannot be true; they are not booked
};

// The newest edge that can be read at `now`.
std::int64_t NewestEdge(std::int64_t now);

// Pulls all hours that the ledger lacks up to the last edge. Fails if nothing could be read, or if the ledger cannot be
// written. Hours that are missing are asked for again by the next pull.
Result<PullOutcome> PullHours(Engine& engine, FleetLedger& ledger, const PullRequest& request);

}  // namespace idleburn
