#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fleet/closed_hours.h"
#include "fleet/engine.h"

// Reads the counters of agents at hour edges from an engine.
//
// A closed counter stands still for an hour, so any one scrape in the hour after an edge reads the edge exactly. The
// question is asked 55 minutes after the edge and looks back 50 minutes: clocks may be five minutes apart, and most
// scrapes may be missing.
namespace idleburn {

// When an edge can be read, and a margin for engines that hide the newest half minute.
inline constexpr std::int64_t kReadEdgeAfter = 55 * 60;
inline constexpr std::int64_t kEngineDelay = 60;

// A label as the agent wrote it. Prometheus renames a label that it sets itself ("job"), unless honor_labels is on.
std::string AgentLabel(const EngineSeries& series, std::string_view name);
// The phase of a series, as an index of kFleetPhaseNames.
std::optional<std::size_t> AgentPhase(const EngineSeries& series);
// The job that a series of a job is about.
JobKey JobKeyOf(const EngineSeries& series);

// What a MIG instance has of its board, by the label slices: "1/7" is {1, 7}. Absent for a GPU.
std::optional<std::pair<std::int64_t, std::int64_t>> SlicesIn(std::string_view label);

// How an engine calls the agents' label `node`: by its own name, or renamed because the scrape sets that label too and
// honor_labels is off. Both if targets differ, or if the configuration was changed. None: nobody knows yet.
struct NodeLabels {
  bool own = false;
  bool renamed = false;
  // Takes what a series tells.
  void Add(const EngineSeries& series);
};

// What one question covers.
struct EdgeRange {
  std::vector<std::string> nodes;  // empty: all
  std::int64_t first = 0;          // the first and the last edge, Unix seconds at full hours
  std::int64_t last = 0;
  NodeLabels labels = {};
};

struct EdgeReadings {
  std::map<std::string, NodeReadings> nodes;
  std::int64_t replicated_nodes = 0;  // several series told the same edge: the largest counts, never their sum
};

// A regular expression of exactly these names, inside a PromQL string.
std::string NamesPattern(const std::vector<std::string>& names);
// Names in groups of at most `most`, whose patterns one question can hold.
std::vector<std::vector<std::string>> NameGroups(const std::vector<std::string>& names, std::size_t most);

// The matchers of these nodes without braces. A series has at most one of them, and each is a question of its own. No
// nodes: one empty matcher, of all.
std::vector<std::string> NodeMatchers(const std::vector<std::string>& nodes, const NodeLabels& labels);

// The nodes that showed closed counters at these edges. `among`: only these; empty: all. Adds to `*labels`.
Result<std::set<std::string>> NodesWithEdges(Engine& engine, const std::vector<std::string>& among, std::int64_t first,
                                             std::int64_t last, NodeLabels* labels);

// All counters of these nodes at these edges. `*trouble` tells why it fails.
Result<EdgeReadings> ReadEdges(Engine& engine, const EdgeRange& range, EngineTrouble* trouble);
// The same in two steps. Closed counters tell everything of a node on which no job ended. The live counters of jobs are
// three times as many series; `jobs` names those that are wanted, empty: all.
Result<EdgeReadings> ReadClosedEdges(Engine& engine, const EdgeRange& range, EngineTrouble* trouble);
Result<void> ReadLiveJobs(Engine& engine, const EdgeRange& range, const std::vector<std::string>& jobs,
                          EngineTrouble* trouble, EdgeReadings* readings);

}  // namespace idleburn
