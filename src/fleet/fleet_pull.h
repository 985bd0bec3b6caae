#pragma once

#include <cstdint>
#include <functional>
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

// What was done, and what could not be.
struct PullOutcome {
  std::int64_t nodes = 0;             // that the engine knows
  std::int64_t hours = 0;             // that the pull covers
  std::int64_t spans = 0;             // booked
  std::int64_t replicated_nodes = 0;  // told by several replicas
  std::int64_t refused_parts = 0;     // questions that were asked again in smaller parts
  std::vector<std::string> missing;   // parts that the engine did not answer: nodes, hours and why
  std::vector<std::string> wrong;     // nodes with counters that cannot be true; they are not booked
};

// The newest edge that can be read at `now`.
std::int64_t NewestEdge(std::int64_t now);

// Pulls all hours that the ledger lacks up to the last edge. `told` gets each part for progress; it may be empty. Fails
// if nothing could be read, or if the ledger cannot be written. Hours that are missing are asked for again by the next
// pull.
Result<PullOutcome> PullHours(Engine& engine, FleetLedger& ledger, const PullRequest& request,
                              const std::function<void(const EdgeRange&)>& told);

}  // namespace idleburn
