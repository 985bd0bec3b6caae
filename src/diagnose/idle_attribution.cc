#include "diagnose/idle_attribution.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"

namespace idleburn {
namespace {

// Adds what the device does, as unions over its streams, by kind of work.
void AddWork(const TraceRows& rows, const TraceSlice& slice, SliceTraits* traits) {
  IntervalUnion compute;
  IntervalUnion comm;
  IntervalUnion copy;
  IntervalUnion htod;
  IntervalUnion fp32;
  for (const SliceEvent& s : slice.events) {
    const DeviceEvent& e = rows.device.events[s.row];
    switch (e.op) {
      case DeviceOp::kKernel:
        compute.Add(s.at);
        if (rows.fp32[e.name]) fp32.Add(s.at);
        break;
      case DeviceOp::kComm:
        comm.Add(s.at);
        break;
      case DeviceOp::kMemcpy:
      case DeviceOp::kMemset:
        copy.Add(s.at);
        if (e.copy == CopyKind::kHtoD) htod.Add(s.at);
        break;
    }
  }
  traits->Of(Trait::kCompute) = compute.Take();
  traits->Of(Trait::kComm) = comm.Take();
  traits->Of(Trait::kCopy) = copy.Take();
  traits->Of(Trait::kHtod) = htod.Take();
  traits->Of(Trait::kFp32) = fp32.Take();
  traits->busy = Union(Union(traits->Of(Trait::kCompute), traits->Of(Trait::kComm)), traits->Of(Trait::kCopy));
}

// The first event by start and file position that starts at `when`. The idle gap before it ends there.
const DeviceEvent& EventAt(const TraceRows& rows, const TraceSlice& slice, std::int64_t when) {
  const auto at = std::lower_bound(slice.events.begin(), slice.events.end(), when,
                                   [](const SliceEvent& e, std::int64_t t) { return e.at.start < t; });
  CHECK(at != slice.events.end() && at->at.start == when);
  return rows.device.events[at->row];
}

// Whether an earlier event of the same launch ran before.
bool StartedBefore(const TraceRows& rows, const TraceSlice& slice, const DeviceEvent& event) {
  const std::optional<std::int64_t> first = rows.graphs.FirstStart(event);
  return first && *first < event.start_ns && slice.clock(*first) < slice.clock(event.start_ns);
}

// The gaps between busy time, with the launch that ends each. Sets *ambiguous if a launch cannot be told from that of
// another process.
std::vector<IdleGap> FindGaps(const TraceRows& rows, const TraceSlice& slice, Window window, const IntervalSet& busy,
                              bool* ambiguous) {
  std::vector<IdleGap> gaps;
  const IntervalSet idle = Difference(IntervalSet::UnionOf({slice.at}), busy);
  gaps.reserve(idle.parts().size());
  for (const Interval& at : idle.parts()) {
    IdleGap& gap = gaps.emplace_back();
    gap.at = at;
    // After the last event of the steps no launch follows.
    gap.tail = window == Window::kProfilerSteps && slice.last && at.end == slice.at.end;
    if (gap.tail) continue;
    const DeviceEvent& event = EventAt(rows, slice, at.end);
    if (rows.launches.IsAmbiguous(event)) *ambiguous = true;
    gap.launch = rows.launches.Of(event);
    if (gap.launch != nullptr) gap.call = slice.clock({gap.launch->start_ns, gap.launch->end_ns});
    gap.copy = event.copy;
    gap.inside_graph = StartedBefore(rows, slice, event);
  }
  return gaps;
}

// Collects the intervals of each class. They are disjoint and in order.
class IdleParts {
 public:
  void Add(const IdleGap& gap) {
    if (gap.inside_graph) Put(Trait::kInsideGraph, gap.at);
    if (gap.tail) return Put(Trait::kTailHead, gap.at);
    if (gap.launch == nullptr) return Put(Trait::kNoLaunchRecord, gap.at);
    // Before the launch, the host was busy with something. After it, the device was late.
    host_.push_back(gap.BeforeLaunch());
    const Interval wait{gap.BeforeLaunch().end, gap.at.end};
    const bool latency = wait.Ns() <= kLaunchLatencyNs;
    Put(latency ? Trait::kLaunchLatency : Trait::kQueuedWait, wait);
    if (latency) return;
    const Interval call{wait.start, std::min(wait.end, gap.call.end)};
    Put(Trait::kInLaunchCall, call);
    if (gap.copy == CopyKind::kHtoD) Put(Trait::kInHtodCall, call);
  }

  // Hands over all classes. The time before launches is returned, because the host's activity still has to be
  // found.
  IntervalSet Take(SliceTraits* traits) {
    for (std::size_t t = 0; t < kTraits; ++t) {
      if (!parts_[t].empty()) traits->of[t] = IntervalSet::UnionOf(std::move(parts_[t]));
    }
    return IntervalSet::UnionOf(std::move(host_));
  }

 private:
  void Put(Trait t, Interval part) { parts_[static_cast<std::size_t>(t)].push_back(part); }

  std::array<std::vector<Interval>, kTraits> parts_;
  std::vector<Interval> host_;
};

// Host calls by purpose. Only synchronising and copy calls of the processes that drive the device count: in a
// file of several ranks, another rank's calls tell nothing. Operators and loaders are not stored by process.
struct ApiRanges {
  IntervalSet sync;
  IntervalSet memcpy;
  IntervalSet own_sync;  // before launches of the same thread
  IntervalSet allocating;
};

// Collects the calls of a slice by purpose.
ApiRanges CollectApiCalls(const TraceRows& rows, const TraceSlice& slice, const Attribution& attribution,
                          const std::vector<IdleGap>& gaps) {
  IntervalUnion sync;
  IntervalUnion copy;
  IntervalUnion allocating;
  std::map<std::uint32_t, IntervalUnion> syncs;  // by thread
  for (const SliceCall& s : slice.calls) {
    const HostCall& call = rows.profile.calls[s.row];
    const bool driver = attribution.drivers.empty() || attribution.drivers[call.process];
    if (call.kind == CallKind::kSync) syncs[call.thread].Add(s.at);
    if (call.kind == CallKind::kSync && driver) sync.Add(s.at);
    if (call.kind == CallKind::kMemcpy && driver) copy.Add(s.at);
    if (call.kind == CallKind::kAllocate) {
      allocating.Add({std::max(s.at.start, attribution.steady_ns), s.at.end});
    }
  }
  ApiRanges api{sync.Take(), copy.Take(), {}, allocating.Take()};
  if (syncs.empty()) return api;
  std::map<std::uint32_t, IntervalUnion> waits;  // by thread: the gaps that it ended with a launch
  for (const IdleGap& gap : gaps) {
    if (gap.launch != nullptr && syncs.contains(gap.launch->thread)) {
      waits[gap.launch->thread].Add(gap.BeforeLaunch());
    }
  }
  for (auto& [thread, wait] : waits) {
    api.own_sync = Union(api.own_sync, Intersection(wait.Take(), syncs[thread].Take()));
  }
  return api;
}

// Divides the time before launches by host activity. The first layer that matches wins, so an operator inside a
// loader counts as the loader's, and the parts are disjoint.
void PaintHost(const TraceSlice& slice, const ApiRanges& api, IntervalSet rest, SliceTraits* traits) {
  const std::array<std::pair<Trait, const IntervalSet*>, 4> layers = {{{Trait::kDataloader, &slice.dataloader},
                                                                       {Trait::kSyncApi, &api.sync},
                                                                       {Trait::kMemcpyApi, &api.memcpy},
                                                                       {Trait::kCpuOp, &slice.cpu_op}}};
  for (const auto& [trait, range] : layers) {
    traits->Of(trait) = Intersection(rest, *range);
    rest = Difference(rest, *range);
  }
  traits->Of(Trait::kHostOther) = std::move(rest);
}

}  // namespace

SliceTraits FindTraits(const TraceRows& rows, const TraceSlice& slice, const Attribution& attribution) {
  SliceTraits traits;
  AddWork(rows, slice, &traits);
  traits.Of(Trait::kLoaderAhead) = slice.loader_ahead;
  traits.Of(Trait::kScalarRead) = slice.scalar_read;
  traits.Of(Trait::kOverhead) = slice.overhead;
  traits.Of(Trait::kPeerWait) = slice.peer_wait;
  bool ambiguous = false;
  traits.gaps = FindGaps(rows, slice, attribution.window, traits.busy, &ambiguous);
  if (!attribution.possible) return traits;
  IdleParts parts;
  for (const IdleGap& gap : traits.gaps) parts.Add(gap);
  IntervalSet host = parts.Take(&traits);
  ApiRanges api = CollectApiCalls(rows, slice, attribution, traits.gaps);
  PaintHost(slice, api, std::move(host), &traits);
  traits.Of(Trait::kOwnSync) = std::move(api.own_sync);
  traits.Of(Trait::kAllocating) = std::move(api.allocating);
  return traits;
}

// A walk of its own, because every slice must know the drivers of the whole window.
void AddDrivers(const TraceRows& rows, const TraceSlice& slice, Attribution* attribution) {
  SliceTraits traits;
  AddWork(rows, slice, &traits);
  bool ambiguous = false;
  for (const IdleGap& gap : FindGaps(rows, slice, attribution->window, traits.busy, &ambiguous)) {
    if (gap.launch != nullptr) attribution->drivers[gap.launch->process] = true;
  }
  if (ambiguous) attribution->possible = false;
}

}  // namespace idleburn
