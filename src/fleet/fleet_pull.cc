#include "fleet/fleet_pull.h"

#include <algorithm>
#include <map>

#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

// Parts that engines answer with their usual limits: 300,000 series a question, and answers of a few megabytes.
constexpr std::size_t kNodesOfPart = 500;
constexpr std::int64_t kHoursOfPart = 6;
// A node that shows nothing for so long is not asked for hour by hour; it starts again when it is back.
constexpr std::int64_t kLongestGap = 40 * 24 * kEdgeSeconds;

std::string HourText(std::int64_t edge) { return FormatRfc3339(Instant::FromNanos(edge * kNanosPerSecond)); }

class Puller {
 public:
  Puller(Engine& engine, FleetLedger& ledger, const PullRequest& request)
      : engine_(engine), ledger_(ledger), request_(request) {}

  Result<PullOutcome> Run() {
    states_ = TRY(ledger_.States());
    const std::int64_t newest = request_.last;
    // A node that was not read for long starts again: its counters of long ago tell nothing of one month or day.
    for (auto state = states_.begin(); state != states_.end();) {
      const bool lost = newest - state->second.edge > kLongestGap;
      if (lost) lost_at_[state->first] = state->second.edge;
      state = lost ? states_.erase(state) : std::next(state);
    }
    const std::int64_t begin = states_.empty() ? request_.first : LaggingEdge(newest);
    if (begin > newest) return std::move(outcome_);
    const std::vector<std::string> nodes = TRY(NodesWithEdges(engine_, begin, newest));
    for (const auto& [edge, group] : ByEdge(nodes, begin)) {
      for (std::int64_t first = edge; first <= newest; first += kHoursOfPart * kEdgeSeconds) {
        const std::int64_t last = std::min(newest, first + (kHoursOfPart - 1) * kEdgeSeconds);
        for (std::size_t i = 0; i < group.size(); i += kNodesOfPart) {
          const auto begin_at = group.begin() + static_cast<std::ptrdiff_t>(i);
          const auto end_at = group.begin() + static_cast<std::ptrdiff_t>(std::min(group.size(), i + kNodesOfPart));
          TRY(Part({std::vector<std::string>(begin_at, end_at), first, last}));
        }
      }
    }
    return std::move(outcome_);
  }

 private:
  // The edge after which some node lacks hours.
  [[nodiscard]] std::int64_t LaggingEdge(std::int64_t newest) const {
    std::int64_t oldest = newest;
    for (const auto& [node, state] : states_) oldest = std::min(oldest, state.edge);
    return oldest + kEdgeSeconds;
  }

  // Nodes that lack the same hours, by the first of them. A node that is new starts where the ledger does.
  [[nodiscard]] std::map<std::int64_t, std::vector<std::string>> ByEdge(const std::vector<std::string>& nodes,
                                                                        std::int64_t begin) const {
    std::map<std::int64_t, std::vector<std::string>> groups;
    for (const std::string& node : nodes) {
      const auto state = states_.find(node);
      groups[state == states_.end() ? begin : std::max(begin, state->second.edge + kEdgeSeconds)].push_back(node);
    }
    return groups;
  }

  // Asks for a part and books it. A part that is too much is asked for in halves: first of its hours, then its nodes.
  Result<void> Part(const EdgeRange& range) {
    EngineTrouble trouble;
    Result<EdgeReadings> readings = ReadEdges(engine_, range, &trouble);
    if (readings) return Book(*readings);
    if (!trouble.too_much) return tl::unexpected<Error>(readings.error());
    EdgeRange left = range;
    EdgeRange right = range;
    if (range.first < range.last) {
      left.last = range.first + (range.last - range.first) / kEdgeSeconds / 2 * kEdgeSeconds;
      right.first = left.last + kEdgeSeconds;
    } else if (range.nodes.size() > 1) {
      const auto half = range.nodes.begin() + static_cast<std::ptrdiff_t>(range.nodes.size() / 2);
      left.nodes.assign(range.nodes.begin(), half);
      right.nodes.assign(half, range.nodes.end());
    } else {
      outcome_.missing.push_back("node " + Printable(range.nodes.front()) + " at " + HourText(range.first) + ": " +
                                 readings.error().message);
      return {};
    }
    TRY(Part(left));
    return Part(right);
  }

  Result<void> Book(const EdgeReadings& readings) {
    outcome_.replicated_nodes = std::max(outcome_.replicated_nodes, readings.replicated_nodes);
    std::map<std::string, NodePull> pulls;
    for (const auto& [node, read] : readings.nodes) {
      const auto known = states_.find(node);
      std::optional<NodeState> state;
      NodePull pull;
      if (known != states_.end()) {
        state = known->second;
        pull.edge_before = state->edge;
      } else if (const auto lost = lost_at_.find(node); lost != lost_at_.end()) {
        pull.edge_before = lost->second;
      }
      const Result<void> booked = BookNode(node, read, request_.first, &state, &pull.spans);
      if (!booked) outcome_.wrong.push_back(booked.error().message);
      if (!state || (pull.edge_before && state->edge == *pull.edge_before)) continue;
      pull.after = *state;
      states_[node] = *state;
      lost_at_.erase(node);
      pulls[node] = std::move(pull);
    }
    TRY(ledger_.Write(pulls));
    return {};
  }

  Engine& engine_;
  FleetLedger& ledger_;
  const PullRequest& request_;
  std::map<std::string, NodeState> states_;
  std::map<std::string, std::int64_t> lost_at_;  // the edge at which a node was last read, of nodes without a state
  PullOutcome outcome_;
};

}  // namespace

std::int64_t NewestEdge(std::int64_t now) {
  return (now - kReadEdgeAfter - kEngineDelay) / kEdgeSeconds * kEdgeSeconds;
}

Result<PullOutcome> PullHours(Engine& engine, FleetLedger& ledger, const PullRequest& request) {
  return Puller(engine, ledger, request).Run();
}

}  // namespace idleburn
