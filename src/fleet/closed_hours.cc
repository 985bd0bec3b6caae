#include "fleet/closed_hours.h"

#include <algorithm>
#include <numeric>

#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

// An agent shows seconds with six decimals. Five phases that are cut to milliseconds may lack a few of them.
constexpr std::int64_t kCutMs = kFleetPhaseCount;
constexpr std::int64_t kMsPerSecond = 1000;
// After a day of counters that cannot be true, the next hours are worth more than the hope to book these.
constexpr std::int64_t kLongestDoubt = kDaySeconds;

std::int64_t SumMs(const PhaseMs& phases) { return std::accumulate(phases.begin(), phases.end(), std::int64_t{0}); }

PhaseMs Minus(const PhaseMs& a, const PhaseMs& b) {
  PhaseMs rest;
  for (std::size_t p = 0; p < kFleetPhaseCount; ++p) rest[p] = a[p] - b[p];
  return rest;
}

void AddTo(PhaseMs* sum, const PhaseMs& more) {
  for (std::size_t p = 0; p < kFleetPhaseCount; ++p) (*sum)[p] += more[p];
}

bool AnyNegative(const PhaseMs& phases) {
  return std::any_of(phases.begin(), phases.end(), [](std::int64_t ms) { return ms < 0; });
}

// Books the spans of one node, one after the other.
class NodeBooking {
 public:
  NodeBooking(const std::string& node, const NodeReadings& readings, NodeState* state)
      : node_(node), readings_(readings), state_(*state) {}

  // The span from the state's edge to `to`, and the state at `to`. `opening`: before the agent's first edge, so the
  // time before its birth is no deficit.
  Result<NodeSpan> Span(std::int64_t to, bool opening) {
    NodeSpan span;
    span.node = node_;
    span.from = state_.edge;
    span.to = to;
    TRY(BookGpus(opening, &span));
    TRY(BookTeams(&span));
    BookJobs(&span);
    state_.edge = to;
    return span;
  }

  // A span whose counters cannot be true: its time is unobserved, and counting starts again at its end.
  NodeSpan Lost(std::int64_t to) {
    NodeSpan span;
    span.node = node_;
    span.from = state_.edge;
    span.to = to;
    std::set<std::string> uuids;
    for (const auto& [key, value] : state_.gpus) uuids.insert(key.first);
    LoseGpus(uuids, &span);
    StartAt(to);
    return span;
  }

  // Takes the counters at an edge as the start of all counting.
  void StartAt(std::int64_t edge) {
    state_ = {};
    state_.edge = edge;
    for (const auto& [key, values] : readings_.gpus) Take(values, edge, key, &state_.gpus);
    for (const auto& [key, values] : readings_.teams) Take(values, edge, key, &state_.teams);
    for (const auto& [key, job] : readings_.jobs) {
      if (const auto end = JobValue(job, edge, edge - 1)) state_.jobs[key] = {*end, edge};
    }
  }

 private:
  static void Take(const AtEdges& values, std::int64_t edge, const EpochKey& key, std::map<EpochKey, PhaseMs>* out) {
    if (const auto at = values.find(edge); at != values.end()) (*out)[key] = at->second;
  }

  // The rise of all epochs of one kind of counter, by name. The new values replace the old ones.
  static std::map<std::string, PhaseMs> Rises(const std::map<EpochKey, AtEdges>& all, std::int64_t to,
                                              std::map<EpochKey, PhaseMs>* state) {
    std::map<std::string, PhaseMs> rises;
    std::map<EpochKey, PhaseMs> newest;
    for (const auto& [key, values] : all) {
      const auto at = values.find(to);
      if (at == values.end()) continue;
      const auto before = state->find(key);
      PhaseMs rise = at->second;
      if (before != state->end()) rise = Minus(at->second, before->second);
      AddTo(&rises[key.first], rise);
      newest[key] = at->second;
    }
    *state = std::move(newest);
    return rises;
  }

  Result<void> BookGpus(bool opening, NodeSpan* span) {
    std::set<std::string> before;
    for (const auto& [key, value] : state_.gpus) before.insert(key.first);
    const std::map<std::string, PhaseMs> rises = Rises(readings_.gpus, span->to, &state_.gpus);
    for (const auto& [uuid, rise] : rises) {
      NodeSpan::GpuTimes gpu{uuid, {rise, 0}};
      const std::int64_t wall = Wall(uuid, *span);
      const std::int64_t lack = wall - SumMs(rise);
      if (lack < -kCutMs || AnyNegative(rise)) {
        return Fail("node " + Printable(node_) + ", GPU " + Printable(uuid) + ": its counters rose by " +
                    std::to_string(SumMs(rise)) + " ms in " + std::to_string(wall) + " ms from " +
                    FormatUnixTime(span->from) + "; do two agents write the same series?");
      }
      const bool born = before.count(uuid) == 0;  // a board that the agent met in this span
      if (lack <= kCutMs) {
        FillCut(lack, &gpu.time.phases);
      } else if (!opening && !born) {
        gpu.time.phases[kFleetUnobserved] += lack;
        gpu.time.reset_ms = lack;
      }
      span->gpus.push_back(std::move(gpu));
      before.erase(uuid);
    }
    LoseGpus(before, span);
    return {};
  }

  // All time of these GPUs is unobserved.
  void LoseGpus(const std::set<std::string>& uuids, NodeSpan* span) const {
    for (const std::string& uuid : uuids) {
      NodeSpan::GpuTimes gpu{uuid, {}};
      gpu.time.phases[kFleetUnobserved] = Wall(uuid, *span);
      gpu.time.reset_ms = gpu.time.phases[kFleetUnobserved];
      span->gpus.push_back(std::move(gpu));
    }
  }

  // What the phases of a GPU must sum to. A MIG instance has its share.
  [[nodiscard]] std::int64_t Wall(const std::string& uuid, const NodeSpan& span) const {
    const std::int64_t wall = (span.to - span.from) * kMsPerSecond;
    const auto share = readings_.slices.find(uuid);
    return share == readings_.slices.end() ? wall : wall * share->second.first / share->second.second;
  }

  // Milliseconds that were cut off go to the largest phase, so the phases sum to the wall time.
  static void FillCut(std::int64_t lack, PhaseMs* phases) { *std::max_element(phases->begin(), phases->end()) += lack; }

  // Gives milliseconds that were cut off to the largest part of each phase, and takes them from `*rest`.
  template <typename Key>
  static void SettleCut(PhaseMs* rest, std::map<Key, PhaseMs>* parts) {
    const auto most = static_cast<std::int64_t>(2 * parts->size() + kCutMs);
    for (std::size_t p = 0; p < kFleetPhaseCount && !parts->empty(); ++p) {
      if ((*rest)[p] == 0 || std::abs((*rest)[p]) > most) continue;
      const auto largest = std::max_element(parts->begin(), parts->end(),
                                            [p](const auto& a, const auto& b) { return a.second[p] < b.second[p]; });
      largest->second[p] += std::exchange((*rest)[p], 0);
    }
  }

  // Teams sum to the GPUs. What no team explains has no known owner.
  Result<void> BookTeams(NodeSpan* span) {
    span->teams = Rises(readings_.teams, span->to, &state_.teams);
    PhaseMs rest{};
    for (const NodeSpan::GpuTimes& gpu : span->gpus) {
      AddTo(&rest, gpu.time.phases);
      rest[kFleetUnobserved] -= gpu.time.reset_ms;
    }
    for (const auto& [team, rise] : span->teams) rest = Minus(rest, rise);
    SettleCut(&rest, &span->teams);
    if (AnyNegative(rest)) {
      return Fail("node " + Printable(node_) + ": its teams sum to more than its GPUs up to " +
                  FormatUnixTime(span->to) + "; do two agents write the same series?");
    }
    if (rest != PhaseMs{}) AddTo(&span->teams[kFleetUnknown], rest);
    return {};
  }

  // The value of a job's counter at `to`, or when it ended before. Absent if the job was not seen after `after` and up
  // to `to`. A job without a twin at the edge that still rises after it began after the edge.
  static std::optional<PhaseMs> JobValue(const JobReadings& job, std::int64_t to, std::int64_t after) {
    if (const auto twin = job.twin.find(to); twin != job.twin.end()) return twin->second;
    std::optional<PhaseMs> last;
    for (auto seen = job.before.upper_bound(after); seen != job.before.end() && seen->first <= to; ++seen) {
      last = seen->second;
      const auto later = job.after.find(seen->first);
      const auto first = job.after_first.find(seen->first);
      if (later == job.after.end() || first == job.after_first.end()) continue;
      const bool rises = SumMs(later->second) > SumMs(first->second);
      if (rises && seen->first == to) return std::nullopt;
      if (SumMs(later->second) >= SumMs(*last)) last = later->second;
    }
    return last;
  }

  // Jobs that ended shortly before the edge and were seen only after it. They are booked where their team has the time.
  void BookLateSeen(std::map<std::string, PhaseMs>* left, NodeSpan* span) {
    for (const auto& [key, job] : readings_.jobs) {
      const auto after = job.after.find(span->to);
      const auto first = job.after_first.find(span->to);
      if (after == job.after.end() || first == job.after_first.end() || first->second != after->second) continue;
      if (state_.jobs.count(key) > 0 || job.before.count(span->to) > 0 || job.twin.count(span->to) > 0) continue;
      const auto team = left->find(key.team);
      if (team == left->end() || AnyNegative(Minus(team->second, after->second))) continue;
      team->second = Minus(team->second, after->second);
      span->jobs[key] = after->second;
      state_.jobs[key] = {after->second, span->to};
    }
  }

  static void SettleJobs(const std::string& team, PhaseMs* rest, NodeSpan* span) {
    std::map<JobKey, PhaseMs> own;
    for (const auto& [key, rise] : span->jobs) {
      if (key.team == team) own[key] = rise;
    }
    SettleCut(rest, &own);
    for (const auto& [key, rise] : own) span->jobs[key] = rise;
  }

  void BookJobs(NodeSpan* span) {
    std::map<std::string, PhaseMs> left = span->teams;
    for (const auto& [key, job] : readings_.jobs) {
      const std::optional<PhaseMs> end = JobValue(job, span->to, span->from);
      if (!end) continue;
      const auto booked = state_.jobs.find(key);
      PhaseMs rise = *end;
      // A counter that fell is that of a job that was started again.
      if (booked != state_.jobs.end() && !AnyNegative(Minus(*end, booked->second.value))) {
        rise = Minus(*end, booked->second.value);
      }
      state_.jobs[key] = {*end, span->to};
      if (rise == PhaseMs{}) continue;
      span->jobs[key] = rise;
      left[key.team] = Minus(left[key.team], rise);
    }
    BookLateSeen(&left, span);
    for (auto& [team, rest] : left) {
      if (team == kFleetUnallocated || rest == PhaseMs{}) continue;
      SettleJobs(team, &rest, span);
      if (rest == PhaseMs{}) continue;
      if (AnyNegative(rest)) {
        PhaseMs& over = span->jobs_over[team];
        for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
          over[p] = std::max<std::int64_t>(-rest[p], 0);
          rest[p] += over[p];
        }
      }
      if (rest != PhaseMs{}) AddTo(&span->jobs[{"", kFleetUnknown, "", team, ""}], rest);
    }
    // A finished job is seen for ten minutes after its end, so two edges later nothing of it comes.
    std::erase_if(state_.jobs, [&](const auto& job) { return job.second.edge + kEdgeSeconds < span->to; });
  }

  const std::string& node_;
  const NodeReadings& readings_;
  NodeState& state_;
};

// Whether all counters of a node began in the hour before the edge.
bool BornBefore(const NodeReadings& readings, std::int64_t edge) {
  return !readings.gpus.empty() && std::all_of(readings.gpus.begin(), readings.gpus.end(), [&](const auto& gpu) {
    return gpu.second.count(edge) == 0 || gpu.first.second >= edge - kEdgeSeconds;
  });
}

}  // namespace

std::int64_t FleetTime::TotalMs() const { return SumMs(phases); }

void FleetTime::Add(const FleetTime& other) {
  AddTo(&phases, other.phases);
  reset_ms += other.reset_ms;
}

WasteBounds WasteOf(const FleetTime& time) {
  // Tenths of each band that are not busy: at least and at most.
  constexpr std::array<std::int64_t, kFleetPhaseCount> kLeast = {9, 3, 1, 0, 0};
  constexpr std::array<std::int64_t, kFleetPhaseCount> kMost = {10, 9, 3, 1, 0};
  WasteBounds waste;
  for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
    waste.low_ms += time.phases[p] * kLeast[p] / 10;
    waste.high_ms += time.phases[p] * kMost[p] / 10;
  }
  return waste;
}

Result<FleetCost> PricedCost(const FleetTime& time, Money total) {
  FleetCost cost{total, Money(), Money()};
  if (time.TotalMs() == 0) return cost;
  const WasteBounds waste = WasteOf(time);
  cost.waste = TRY(Scale(total, waste.low_ms, time.TotalMs()));
  cost.waste_high = TRY(Scale(total, waste.high_ms, time.TotalMs()));
  return cost;
}

Result<void> BookNode(const std::string& node, const NodeReadings& readings, std::int64_t first_edge,
                      std::optional<NodeState>* state, std::vector<NodeSpan>* spans) {
  Result<void> outcome;
  Result<void> lost;  // fails once time was given up
  for (const std::int64_t edge : readings.edges) {
    if (*state && edge <= (*state)->edge) continue;
    if (!*state && !(edge > first_edge && BornBefore(readings, edge))) {
      NodeBooking(node, readings, &state->emplace()).StartAt(edge);
      continue;
    }
    const bool opening = !*state;
    NodeState next = opening ? NodeState{edge - kEdgeSeconds, {}, {}, {}} : **state;
    Result<NodeSpan> span = NodeBooking(node, readings, &next).Span(edge, opening);
    if (span) {
      outcome = lost;  // the span has the time of the edges that were passed over
    } else {
      if (outcome) outcome = tl::unexpected<Error>(span.error());
      if (opening || edge - (*state)->edge < kLongestDoubt) continue;
      next = **state;
      span = NodeBooking(node, readings, &next).Lost(edge);
      lost = outcome;
    }
    spans->push_back(*std::move(span));
    *state = std::move(next);
  }
  return outcome;
}

}  // namespace idleburn
