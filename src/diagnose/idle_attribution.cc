#include "diagnose/idle_attribution.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace idleburn {
namespace {

// Of each launch, the start of its first event on the device.
class FirstEvents {
 public:
  explicit FirstEvents(const std::vector<DeviceEvent>& events) {
    rows_.reserve(events.size());
    for (const DeviceEvent& e : events) {
      if (e.correlation != kNoCorrelation) rows_.push_back({e.correlation, e.process, e.start_ns});
    }
    if (!std::is_sorted(rows_.begin(), rows_.end())) std::sort(rows_.begin(), rows_.end());
    const auto of_one_launch = [](const Row& a, const Row& b) {
      return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b);
    };
    // Without graphs every launch has one event, and nothing need be looked up.
    if (std::adjacent_find(rows_.begin(), rows_.end(), of_one_launch) == rows_.end()) std::vector<Row>().swap(rows_);
  }

  [[nodiscard]] bool HasBefore(const DeviceEvent& event) const {
    if (event.correlation == kNoCorrelation) return false;
    const auto first = std::lower_bound(rows_.begin(), rows_.end(), Row{event.correlation, event.process, kLowest});
    return first != rows_.end() && std::get<0>(*first) == event.correlation && std::get<1>(*first) == event.process &&
           std::get<2>(*first) < event.start_ns;
  }

 private:
  using Row = std::tuple<std::int64_t, std::uint16_t, std::int64_t>;  // correlation, process, start
  static constexpr std::int64_t kLowest = INT64_MIN;
  std::vector<Row> rows_;  // sorted
};

// The first event in (start, file order) that starts at `when`: the idle gap before it ends there.
const DeviceEvent& EventAt(const ProfiledDevice& device, const DeviceTimeline& timeline, std::int64_t when) {
  const auto at = std::lower_bound(timeline.order.begin(), timeline.order.end(), when,
                                   [&](std::uint32_t i, std::int64_t t) { return device.events[i].start_ns < t; });
  CHECK(at != timeline.order.end() && device.events[*at].start_ns == when);
  return device.events[*at];
}

// Synchronising and copy calls of the processes that drive the device: in a file of several ranks, those of another
// rank say nothing of this one. (Operators and loaders are not kept by process.)
struct ApiRanges {
  IntervalSet sync;
  IntervalSet memcpy;
};

ApiRanges ApiOf(const Profile& profile, const std::vector<IdleGap>& gaps) {
  std::set<std::uint16_t> drivers;
  for (const IdleGap& gap : gaps) {
    if (gap.launch != nullptr) drivers.insert(gap.launch->process);
  }
  IntervalUnion sync;
  IntervalUnion copy;
  for (const HostCall& call : profile.calls) {
    if (call.kind == CallKind::kSync && drivers.contains(call.process)) sync.Add({call.start_ns, call.end_ns});
    if (call.kind == CallKind::kMemcpy && drivers.contains(call.process)) copy.Add({call.start_ns, call.end_ns});
  }
  return {sync.Take(), copy.Take()};
}

// What the gaps' host parts are made of, by priority.
void PaintHost(const Profile& profile, IntervalSet rest, IdleAttribution& idle) {
  const HostRanges& host = profile.host;
  const ApiRanges api = ApiOf(profile, idle.gaps);
  const std::array<std::pair<IdleClass, const IntervalSet*>, 4> layers = {{{IdleClass::kDataloader, &host.dataloader},
                                                                           {IdleClass::kSyncApi, &api.sync},
                                                                           {IdleClass::kMemcpyApi, &api.memcpy},
                                                                           {IdleClass::kCpuOp, &host.cpu_op}}};
  for (const auto& [c, range] : layers) {
    idle.by_class[static_cast<std::size_t>(c)] = Intersection(rest, *range);
    rest = Difference(rest, *range);
  }
  idle.by_class[static_cast<std::size_t>(IdleClass::kHostOther)] = std::move(rest);
}

// Intervals of each kind as they are found; disjoint and in order.
struct Parts {
  std::array<std::vector<Interval>, kIdleClasses> by_class;
  std::vector<Interval> host;
  std::vector<Interval> in_launch_call;
  std::vector<Interval> in_htod_call;
  std::vector<Interval> inside_graph;

  void Add(IdleClass c, Interval part) { by_class[static_cast<std::size_t>(c)].push_back(part); }

  void AddLaunched(const IdleGap& gap) {
    host.push_back({gap.at.start, gap.LaunchedNs()});
    const Interval wait{gap.LaunchedNs(), gap.at.end};
    const bool latency = wait.Ns() <= kLaunchLatencyNs;
    Add(latency ? IdleClass::kLaunchLatency : IdleClass::kQueuedWait, wait);
    if (latency) return;
    const Interval call{wait.start, std::min(wait.end, gap.launch->end_ns)};
    in_launch_call.push_back(call);
    if (gap.copy == CopyKind::kHtoD) in_htod_call.push_back(call);
  }
};

}  // namespace

std::string_view Name(IdleClass c) {
  constexpr std::array<std::string_view, kIdleClasses> kNames = {
      "dataloader",         "sync_api",         "memcpy_api", "cpu_op", "host_other", "launch_latency_le30us",
      "queued_wait_gt30us", "no_launch_record", "tail_head"};
  return kNames[static_cast<std::size_t>(c)];
}

std::optional<IdleAttribution> AttributeIdle(const Profile& profile, const ProfiledDevice& device,
                                             const DeviceTimeline& timeline, const LaunchIndex& launches, Window window,
                                             const TimeSplit& split) {
  IdleAttribution idle;
  Parts parts;
  const FirstEvents first_events(device.events);
  idle.gaps.reserve(split.idle.parts().size());
  for (const Interval& at : split.idle.parts()) {
    IdleGap gap{at};
    if (window == Window::kProfilerSteps && at.end == split.window.end) {
      gap.tail = true;
      parts.Add(IdleClass::kTailHead, at);
      idle.gaps.push_back(gap);
      continue;
    }
    const DeviceEvent& event = EventAt(device, timeline, at.end);
    if (launches.IsAmbiguous(event)) return std::nullopt;
    gap.launch = launches.Of(event);
    gap.copy = event.copy;
    gap.inside_graph = first_events.HasBefore(event);
    if (gap.inside_graph) parts.inside_graph.push_back(at);
    if (gap.launch != nullptr) {
      parts.AddLaunched(gap);
    } else {
      parts.Add(IdleClass::kNoLaunchRecord, at);
    }
    idle.gaps.push_back(gap);
  }
  for (std::size_t c = 0; c < kIdleClasses; ++c) {
    idle.by_class[c] = IntervalSet::UnionOf(std::move(parts.by_class[c]));
  }
  PaintHost(profile, IntervalSet::UnionOf(std::move(parts.host)), idle);
  idle.in_launch_call = IntervalSet::UnionOf(std::move(parts.in_launch_call));
  idle.in_htod_call = IntervalSet::UnionOf(std::move(parts.in_htod_call));
  idle.inside_graph = IntervalSet::UnionOf(std::move(parts.inside_graph));
  return idle;
}

}  // namespace idleburn
