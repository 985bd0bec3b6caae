#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fleet/edge_queries.h"
#include "fleet/engine.h"
#include "fleet/fleet_ledger.h"

// Brings a ledger up to date with its engine: asks only for hours that it lacks, in parts that the engine can answer.
namespace idleburn {

// The spans of nodes, each in the order of time.
using NodeSpans = std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>>;

struct PullRequest {
  std::int64_t first = 0;  // the edge at which counting starts; earlier than the ledger's: it is extended
  std::int64_t last = 0;   // the newest edge that is wanted; at most NewestEdge(now)
  // What an older ledger knows better is not booked (fleet/ledger_rebuild.h). Null: nothing.
  const NodeSpans* known = nullptr;
};

// What a reader of the answer must know of the pull.
struct PullOutcome {
  std::int64_t replicated_nodes = 0;          // told by several replicas
  std::vector<std::string> missing;           // parts that the engine did not answer: nodes, hours and why
  std::map<std::string, std::string> wrong;   // nodes with counters that cannot be true, and which (BookNode)
  std::map<std::string, std::int64_t> edges;  // the newest edge of each node
};

// The newest edge that can be read at `now`.
std::int64_t NewestEdge(std::int64_t now);

// Pulls all hours that the ledger lacks from the first edge up to the last. Fails if nothing could be read, or if the
// ledger cannot be written. Hours that are missing are asked for again by the next pull.
Result<PullOutcome> PullHours(Engine& engine, FleetLedger& ledger, const PullRequest& request);

}  // namespace idleburn
