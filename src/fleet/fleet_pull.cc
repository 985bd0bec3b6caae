#include "fleet/fleet_pull.h"

#include <algorithm>
#include <map>
#include <set>

#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

// Nodes of a part. Eight GPUs and a day of jobs have about 100 series a question. So a part stays far below the 300,000
// series that engines answer at most, and three answers at once take less than 100 MB. A part has the hours of one UTC
// day at most, so one transaction writes to one month, and the sum of a day at once.
constexpr std::size_t kNodesOfPart = 250;
// A part of a few hours has more nodes, and asks for live counters of jobs only where they are needed.
constexpr std::int64_t kFewHours = 3 * kEdgeSeconds;
constexpr std::size_t kNodesOfFewHours = 1500;
constexpr std::size_t kMostEnded = 5000;
constexpr int kBookAttempts = 3;
// A node that shows nothing for so long is not asked for hour by hour; it starts again when it is back.
constexpr std::int64_t kLongestGap = 40 * kDaySeconds;

// The last edge of the UTC day that an edge closes an hour of.
std::int64_t DayEnd(std::int64_t edge) { return ((edge - 1) / kDaySeconds + 1) * kDaySeconds; }

// Pulls one reach of the ledger.
class Puller {
 public:
  Puller(Engine& engine, FleetLedger& ledger, const PullRequest& request, const LedgerReach& reach,
         PullOutcome* outcome)
      : engine_(engine), ledger_(ledger), request_(request), reach_(reach), outcome_(*outcome) {}

  Result<void> Run() {
    TRY(ReadStates(nullptr));
    const std::int64_t newest = std::min(request_.last, reach_.end.value_or(request_.last));
    DropLost(newest);
    TRY(PullUpTo(newest));
    if (reach_.end && newest == *reach_.end) TRY(JoinNextReach());
    if (outcome_.missing.empty()) TRY(ledger_.MoveReach(reach_.begin, newest));
    for (const auto& [node, state] : states_) Reached(node, state.edge);
    for (const auto& [node, edge] : lost_at_) Reached(node, edge);
    return {};
  }

 private:
  // The states of all nodes, or again those of some.
  Result<void> ReadStates(const std::set<std::string>* some) {
    const std::map<std::string, NodeMark> marks = TRY(ledger_.Marks(reach_.begin));
    for (const auto& [node, mark] : marks) {
      if (some != nullptr && some->count(node) == 0) continue;
      std::optional<NodeState> state = StateFrom(mark.edge, mark.state);
      if (!state) {
        return Fail("the ledger's state of node " + Printable(node) + " is damaged; run idleburn fleet pull --rebuild");
      }
      states_[node] = std::move(*state);
    }
    return {};
  }

  void Reached(const std::string& node, std::int64_t edge) {
    std::int64_t& newest = outcome_.edges[node];
    newest = std::max(newest, edge);
  }

  // A node that was not read for long starts again: its counters of long ago tell nothing of one month or day.
  void DropLost(std::int64_t newest) {
    for (auto state = states_.begin(); state != states_.end();) {
      const bool lost = newest - state->second.edge > kLongestGap;
      if (lost) lost_at_[state->first] = state->second.edge;
      state = lost ? states_.erase(state) : std::next(state);
    }
  }

  // Nodes that were asked for up to the same edge show themselves in the hours after it, and so do new nodes. A node
  // that lags behind is asked for by its name: most of them are gone, and an engine takes long to look back for weeks.
  Result<void> PullUpTo(std::int64_t newest) {
    const std::int64_t begin = reach_.through == 0 ? reach_.begin : reach_.through + kEdgeSeconds;
    std::set<std::string> nodes;
    if (begin <= newest) nodes = TRY(NodesWithEdges(engine_, {}, begin, newest, &labels_));
    std::vector<std::string> lagging;
    std::int64_t oldest = newest;
    for (const auto& [node, state] : states_) {
      if (state.edge + kEdgeSeconds >= begin || state.edge >= newest) continue;
      lagging.push_back(node);
      oldest = std::min(oldest, state.edge);
    }
    for (const std::vector<std::string>& group : NameGroups(lagging, kNodesOfPart)) {
      nodes.merge(TRY(NodesWithEdges(engine_, group, oldest + kEdgeSeconds, newest, &labels_)));
    }
    for (const auto& [edge, group] : ByEdge(nodes, begin)) {
      for (std::int64_t first = edge; first <= newest;) {
        const std::int64_t last = std::min({newest, DayEnd(first), first + (most_hours_ - 1) * kEdgeSeconds});
        TRY(Parts(group, first, last));
        first = last + kEdgeSeconds;
      }
    }
    return {};
  }

  // The hours of many nodes, a part at a time.
  Result<void> Parts(const std::vector<std::string>& nodes, std::int64_t first, std::int64_t last) {
    const std::size_t most = last - first < kFewHours ? kNodesOfFewHours : kNodesOfPart;
    std::vector<std::vector<std::string>> groups = NameGroups(nodes, most);
    for (std::vector<std::string>& group : groups) TRY(Part({std::move(group), first, last, labels_}));
    return {};
  }

  // The next reach begins at another edge for a node that could not be read where the reach does. One span leads there.
  Result<void> JoinNextReach() {
    const std::map<std::string, std::int64_t> firsts = TRY(ledger_.FirstEdges(*reach_.end));
    std::map<std::int64_t, std::vector<std::string>> groups;
    for (const auto& [node, first] : firsts) {
      const auto state = states_.find(node);
      if (state == states_.end() || state->second.edge >= first || first - state->second.edge > kLongestGap) continue;
      groups[first].push_back(node);
    }
    for (const auto& [first, nodes] : groups) TRY(Parts(nodes, first, first));
    return {};
  }

  // Nodes that lack the same hours, by the first of them.
  [[nodiscard]] std::map<std::int64_t, std::vector<std::string>> ByEdge(const std::set<std::string>& nodes,
                                                                        std::int64_t begin) const {
    std::map<std::int64_t, std::vector<std::string>> groups;
    for (const std::string& node : nodes) {
      const auto state = states_.find(node);
      groups[state == states_.end() ? begin : state->second.edge + kEdgeSeconds].push_back(node);
    }
    return groups;
  }

  // What a part needs. Of a few hours the live counters of jobs are asked for only where closed ones leave time of a
  // team without a job: first of jobs that were there and ended, then of all jobs of the node.
  Result<EdgeReadings> Readings(const EdgeRange& range, EngineTrouble* trouble) {
    if (range.last - range.first >= kFewHours) return ReadEdges(engine_, range, trouble);
    EdgeReadings readings = TRY(ReadClosedEdges(engine_, range, trouble));
    for (const std::vector<std::string>& ended : NameGroups(EndedJobs(readings, range.last), kMostEnded)) {
      TRY(ReadLiveJobs(engine_, range, ended, trouble, &readings));
    }
    EdgeRange rest = range;
    rest.nodes.clear();
    for (const auto& [node, read] : readings.nodes) {
      if (LacksJobs(node, read)) rest.nodes.push_back(node);
    }
    if (!rest.nodes.empty()) TRY(ReadLiveJobs(engine_, rest, {}, trouble, &readings));
    return readings;
  }

  // Names of jobs that ran at the state's edge and no longer at the last one. So many that the question stays short.
  [[nodiscard]] std::vector<std::string> EndedJobs(const EdgeReadings& readings, std::int64_t last) const {
    std::set<std::string> names;
    for (const auto& [node, read] : readings.nodes) {
      const auto state = states_.find(node);
      if (state == states_.end()) continue;
      for (const auto& [job, booked] : state->second.jobs) {
        if (booked.edge < state->second.edge) continue;  // it ended earlier
        const auto now = read.jobs.find(job);
        if (now == read.jobs.end() || now->second.twin.count(last) == 0) names.insert(job.job);
      }
    }
    if (names.size() > kMostEnded) names.clear();  // then all jobs of the nodes are asked for
    names.erase("");
    return {names.begin(), names.end()};
  }

  // Whether a node's hours have time of a team that no job explains, or cannot be booked.
  [[nodiscard]] bool LacksJobs(const std::string& node, const NodeReadings& read) const {
    const auto known = states_.find(node);
    if (known == states_.end()) return true;  // the jobs at its first edge are not known
    std::optional<NodeState> state = known->second;
    std::vector<NodeSpan> spans;
    if (!BookNode(node, read, reach_.begin, &state, &spans)) return true;
    return std::any_of(spans.begin(), spans.end(), [](const NodeSpan& span) {
      return !span.jobs_over.empty() || std::any_of(span.jobs.begin(), span.jobs.end(),
                                                    [](const auto& job) { return job.first.job == kFleetUnknown; });
    });
  }

  // Asks for a part and books it. A part that is too much is asked for in halves: first of its hours, then its nodes.
  Result<void> Part(const EdgeRange& range) {
    EngineTrouble trouble;
    Result<EdgeReadings> readings = Readings(range, &trouble);
    if (readings) return Book(*readings);
    if (!trouble.too_much) return tl::unexpected<Error>(readings.error());
    EdgeRange left = range;
    EdgeRange right = range;
    if (range.first < range.last) {
      left.last = range.first + (range.last - range.first) / kEdgeSeconds / 2 * kEdgeSeconds;
      right.first = left.last + kEdgeSeconds;
      most_hours_ = (left.last - left.first) / kEdgeSeconds + 1;
    } else if (range.nodes.size() > 1) {
      const auto half = range.nodes.begin() + static_cast<std::ptrdiff_t>(range.nodes.size() / 2);
      left.nodes.assign(range.nodes.begin(), half);
      right.nodes.assign(half, range.nodes.end());
    } else {
      outcome_.missing.push_back("node " + Printable(range.nodes.front()) + " at " + FormatUnixTime(range.first) +
                                 ": " + readings.error().message);
      return {};
    }
    TRY(Part(left));
    return Part(right);
  }

  Result<void> Book(const EdgeReadings& readings) {
    outcome_.replicated_nodes = std::max(outcome_.replicated_nodes, readings.replicated_nodes);
    std::set<std::string> left;
    for (const auto& [node, read] : readings.nodes) left.insert(node);
    // Another pull that moved a node may have booked fewer of these hours. The rest is booked after its state.
    for (int i = 0; i < kBookAttempts && !left.empty(); ++i) {
      NodePulls pulls;
      for (const std::string& node : left) PullOf(node, readings.nodes.at(node), &pulls);
      left = TRY(ledger_.Write(reach_.begin, pulls));
      for (auto& [node, pull] : pulls) {
        lost_at_.erase(node);
        if (left.count(node) == 0) states_[node] = std::move(pull.after);
      }
      if (!left.empty()) TRY(ReadStates(&left));
    }
    return {};
  }

  // What there is to book of a node, if anything.
  void PullOf(const std::string& node, const NodeReadings& read, NodePulls* pulls) {
    const auto known = states_.find(node);
    std::optional<NodeState> state;
    NodePull pull;
    if (known != states_.end()) {
      state = known->second;
      pull.edge_before = state->edge;
    } else if (const auto lost = lost_at_.find(node); lost != lost_at_.end()) {
      pull.edge_before = lost->second;
    }
    const Result<void> booked = BookNode(node, read, reach_.begin, &state, &pull.spans);
    DropKnownBetter(node, &pull.spans);
    const bool moved = state && !(pull.edge_before && state->edge == *pull.edge_before);
    if (!booked) {
      outcome_.wrong[node] = booked.error().message;
    } else if (moved) {
      outcome_.wrong.erase(node);
    }
    if (!moved) return;
    pull.after = std::move(*state);
    (*pulls)[node] = std::move(pull);
  }

  // Leaves out spans that would destroy what a ledger knows: of several hours that it knows one by one, and of some of
  // the hours of a span that reaches further than the engine does.
  void DropKnownBetter(const std::string& node, std::vector<NodeSpan>* spans) {
    if (request_.known == nullptr || spans->empty()) return;
    const auto known = request_.known->find(node);
    if (known == request_.known->end()) return;
    const std::int64_t start = starts_.try_emplace(node, spans->front().from).first->second;
    std::erase_if(*spans, [&](const NodeSpan& span) {
      return std::any_of(known->second.begin(), known->second.end(), [&](const auto& old) {
        const auto& [from, to] = old;
        const bool finer = from >= span.from && to <= span.to && to - from < span.to - span.from;
        return from < span.to && to > span.from && (finer || from < start || to > request_.last);
      });
    });
  }

  Engine& engine_;
  FleetLedger& ledger_;
  const PullRequest& request_;
  const LedgerReach& reach_;
  PullOutcome& outcome_;
  std::int64_t most_hours_ = 24;                // of a part; fewer after a refusal
  std::map<std::string, std::int64_t> starts_;  // where the spans of a node begin
  NodeLabels labels_;
  std::map<std::string, NodeState> states_;
  std::map<std::string, std::int64_t> lost_at_;  // the edge at which a node was last read, of nodes without a state
};

}  // namespace

std::int64_t NewestEdge(std::int64_t now) {
  return (now - kReadEdgeAfter - kEngineDelay) / kEdgeSeconds * kEdgeSeconds;
}

Result<PullOutcome> PullHours(Engine& engine, FleetLedger& ledger, const PullRequest& request) {
  std::vector<LedgerReach> reaches = TRY(ledger.Reaches());
  if (reaches.empty() || request.first < reaches.front().begin) {
    TRY(ledger.MoveReach(request.first, 0));
    reaches = TRY(ledger.Reaches());
  }
  PullOutcome outcome;
  for (const LedgerReach& reach : reaches) {
    if (reach.begin > request.last) continue;
    if (!reach.done()) {
      TRY(Puller(engine, ledger, request, reach, &outcome).Run());
      continue;
    }
    const std::map<std::string, NodeMark> marks = TRY(ledger.Marks(reach.begin));
    for (const auto& [node, mark] : marks) outcome.edges[node] = std::max(outcome.edges[node], mark.edge);
  }
  return outcome;
}

}  // namespace idleburn
