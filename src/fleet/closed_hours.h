#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fleet/fleet_report.h"

// From counters at hour edges to booked time: the rules of closed hours (docs/fleet.md, "How hours are booked"). Pure
// functions of what was read; fleet/edge_queries.h reads it from an engine.
//
// An agent closes its counters at each full UTC hour, so the difference between two edges is exact. An edge that was
// not read is never guessed: the hours between two readable edges are one span. A counter that started again has
// another epoch, so its value counts from zero, and what is missing to the length of the span is unobserved.
namespace idleburn {

inline constexpr std::int64_t kEdgeSeconds = 3600;
inline constexpr std::int64_t kDaySeconds = 24 * kEdgeSeconds;

// What identifies a job's counters on a node.
struct JobKey {
  std::string cluster;
  std::string job;
  std::string user;
  std::string team;
  std::string experiment;
  friend auto operator<=>(const JobKey&, const JobKey&) = default;
};

// A counter by its name and the epoch of its agent: a UUID, or a team.
using EpochKey = std::pair<std::string, std::int64_t>;
// Values at edges, in milliseconds.
using AtEdges = std::map<std::int64_t, PhaseMs>;

// A job's counter around edges.
struct JobReadings {
  AtEdges twin;         // the closed twin: only of a job that runs at the edge
  AtEdges before;       // the live counter's last value in the hour before the edge
  AtEdges after;        // its last value in the quarter of an hour after the edge
  AtEdges after_first;  // its first value there
};

// All that was read of one node.
struct NodeReadings {
  std::set<std::int64_t> edges;  // those whose closed time stamp was read
  std::map<EpochKey, AtEdges> gpus;
  std::map<EpochKey, AtEdges> teams;
  std::map<JobKey, JobReadings> jobs;
  // Of a MIG instance: its slices and those of its board. It counts by that share.
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> slices;
};

// A node's counters at the newest edge that was booked.
struct NodeState {
  std::int64_t edge = 0;
  std::map<EpochKey, PhaseMs> gpus;
  std::map<EpochKey, PhaseMs> teams;
  struct Booked {
    PhaseMs value{};
    std::int64_t edge = 0;  // when the job was last seen
    friend bool operator==(const Booked&, const Booked&) = default;
  };
  std::map<JobKey, Booked> jobs;
  friend bool operator==(const NodeState&, const NodeState&) = default;
};

// The time of a node between two edges that were read. Teams sum to the GPUs without their deficits, jobs to their
// teams; time of a team that no job explains is of the job "_unknown".
struct NodeSpan {
  std::string node;
  std::int64_t from = 0;
  std::int64_t to = 0;
  struct GpuTimes {
    std::string uuid;
    FleetTime time;  // a GPU that was not read at the end of the span lost all of it (reset_ms)
  };
  std::vector<GpuTimes> gpus;
  std::map<std::string, PhaseMs> teams;
  std::map<JobKey, PhaseMs> jobs;
  std::map<std::string, PhaseMs> jobs_over;  // by team: the time that its jobs have beyond it
};

// Books what was read of a node after its state, span by span, and moves the state. Without a state the first edge is
// only its start, unless the agent began in the hour before it and `first_edge` lies earlier.
//
// Counters at an edge are wrong if the phases of a GPU sum to more than the span holds, or the teams to more than the
// GPUs. Such an edge counts as not read: a later edge books the time, if it fits. After a day without one the time is
// unobserved, and counting starts again. Fails, after it booked the rest, if time of a wrong edge was not booked from
// counters.
Result<void> BookNode(const std::string& node, const NodeReadings& readings, std::int64_t first_edge,
                      std::optional<NodeState>* state, std::vector<NodeSpan>* spans);

}  // namespace idleburn
