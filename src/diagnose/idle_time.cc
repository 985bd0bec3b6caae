#include "diagnose/idle_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "base/int128.h"
#include "base/result.h"
#include "diagnose/findings.h"
#include "diagnose/live_causes.h"
#include "diagnose/stalls.h"

namespace idleburn {
namespace {

// Whether a bucket belongs to a stretch: idle for nine tenths of its observed time, so that a short burst does not
// end the stretch. Unobserved time ends it, because it is not idle.
bool IsIdle(const Timeline::Bucket& bucket) {
  const std::int64_t observed = bucket.ObservedNs();
  return observed > 0 && bucket.phase_ns[kIdlePhase] * 10 >= observed * 9;
}

// Marks runs of idle buckets, together with the buckets at both ends in which the stretch begins and ends. A
// run counts if its idle time reaches a minute.
std::vector<bool> MarkStretches(const std::vector<Timeline::Bucket>& buckets, const std::vector<bool>& taken) {
  std::vector<bool> marked(buckets.size(), false);
  const auto is_taken = [&](std::size_t i) { return i < taken.size() && taken[i]; };
  const auto is_idle = [&](std::size_t i) { return IsIdle(buckets[i]) && !is_taken(i); };
  for (std::size_t i = 0; i < buckets.size();) {
    if (!is_idle(i)) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < buckets.size() && is_idle(end)) ++end;
    // The neighbours hold the beginning and the end of the stretch.
    const std::size_t from = i == 0 || is_taken(i - 1) ? i : i - 1;
    const std::size_t to = end == buckets.size() || is_taken(end) ? end : end + 1;
    std::int64_t idle = 0;
    for (std::size_t k = from; k < to; ++k) idle += buckets[k].phase_ns[kIdlePhase];
    if (idle >= kIdleStretchSeconds * kNanosPerSecond) {
      std::fill(marked.begin() + static_cast<std::ptrdiff_t>(from), marked.begin() + static_cast<std::ptrdiff_t>(to),
                true);
    }
    i = end;
  }
  return marked;
}

// How much of the runs at 0 % lies in a bucket. Runs are exact, however coarse the timeline is.
std::int64_t InRuns(const DeviceTotals& totals, std::size_t bucket) {
  const std::int64_t width = totals.timeline.bucket_seconds * kNanosPerSecond;
  const std::int64_t begin = (totals.timeline.first + static_cast<std::int64_t>(bucket)) * width;
  auto run = std::partition_point(totals.zero_runs.begin(), totals.zero_runs.end(),
                                  [&](const ZeroRun& r) { return r.to() <= begin; });
  std::int64_t sum = 0;
  for (; run != totals.zero_runs.end() && run->from < begin + width; ++run) {
    sum += std::min(run->to(), begin + width) - std::max(run->from, begin);
  }
  return std::min(sum, totals.timeline.buckets[bucket].phase_ns[kIdlePhase]);
}

}  // namespace

IdleStretches FindIdleStretches(const DeviceTotals& totals, const std::vector<bool>& taken, bool place_runs) {
  const Timeline& timeline = totals.timeline;
  const std::vector<bool> marked = MarkStretches(timeline.buckets, taken);
  const bool coarse = timeline.bucket_seconds > 32;  // a stretch of a minute may then fill no bucket
  IdleStretches idle;
  std::int64_t not_held = 0;
  for (std::size_t i = 0; i < marked.size(); ++i) {
    const Timeline::Bucket& bucket = timeline.buckets[i];
    if (marked[i]) {
      idle.held_ns += bucket.held_ns;
      not_held += bucket.phase_ns[kIdlePhase] - bucket.held_ns;
    } else if (coarse && (i >= taken.size() || !taken[i]) && bucket.phase_ns[kIdlePhase] > 0) {
      // In a coarse bucket only the exact runs at 0 % are certain to be idle for long.
      const std::int64_t clear = place_runs ? InRuns(totals, i) : 0;
      const auto held = static_cast<std::int64_t>(Int128{bucket.held_ns} * clear / bucket.phase_ns[kIdlePhase]);
      idle.held_ns += held;
      not_held += clear - held;
      idle.unclear_ns += bucket.phase_ns[kIdlePhase] - clear;
    }
  }
  // Buckets only store held time. The totals tell how the rest divides into empty and unknown.
  const std::int64_t rest = totals.idle_empty_ns + totals.idle_unknown_ns;
  const double unknown = rest == 0 ? 0 : static_cast<double>(totals.idle_unknown_ns) / static_cast<double>(rest);
  idle.unknown_ns = static_cast<std::int64_t>(std::llround(static_cast<double>(not_held) * unknown));
  idle.empty_ns = not_held - idle.unknown_ns;
  idle.marked = marked;
  return idle;
}

namespace {

// A union-find structure over positions.
class Groups {
 public:
  explicit Groups(std::size_t size) : of_(size) { std::iota(of_.begin(), of_.end(), std::size_t{0}); }
  std::size_t Find(std::size_t i) {
    while (of_[i] != i) i = of_[i] = of_[of_[i]];
    return i;
  }
  void Join(std::size_t a, std::size_t b) { of_[Find(b)] = Find(a); }

 private:
  std::vector<std::size_t> of_;
};

// Joins GPUs that share an owner. Returns false if no GPU has one.
bool JoinByOwner(const Scene& scene, Groups& groups) {
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < scene.run.devices.size(); ++i) {
    const CostReport::DeviceCost* cost = scene.cost.Of(scene.run.devices[i].device);
    if (cost == nullptr) continue;
    for (const std::string& owner : cost->owners) groups.Join(first.try_emplace(owner, i).first->second, i);
  }
  return !first.empty();
}

// The common parts of two lists of runs that last at least `least`.
std::vector<ZeroRun> CommonRuns(const std::vector<ZeroRun>& a, const std::vector<ZeroRun>& b, std::int64_t least) {
  std::vector<ZeroRun> both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::int64_t from = std::max(a[i].from, b[j].from);
    const std::int64_t to = std::min(a[i].to(), b[j].to());
    if (to - from >= least && to > from) both.push_back({from, to - from});
    if (a[i].to() < b[j].to()) {
      ++i;
    } else {
      ++j;
    }
  }
  return both;
}

}  // namespace

std::vector<std::vector<std::size_t>> GroupJobs(const Scene& scene) {
  const std::vector<DeviceResult>& all = scene.run.devices;
  Groups groups(all.size());
  // Without owners all GPUs in use are one job. That is the cautious assumption: it never stops a GPU that
  // peers need.
  if (!JoinByOwner(scene, groups)) {
    std::size_t used = all.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!TakesPart(all[i].totals) && all[i].totals.idle_unknown_ns == 0 && all[i].totals.ObservedNs() > 0) continue;
      if (used < all.size()) groups.Join(used, i);
      used = i;
    }
  }
  std::map<std::size_t, std::vector<std::size_t>> jobs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // The readings of a board with instances belong to its instances.
    if (!scene.devices[all[i].device].has_instances) jobs[groups.Find(i)].push_back(i);
  }
  std::vector<std::vector<std::size_t>> list;
  for (auto& [first, members] : jobs) list.push_back(std::move(members));
  return list;
}

std::vector<StopTime> FindStopTimes(const Scene& scene) {
  const std::int64_t least = scene.thresholds.idle_after.count();
  std::vector<StopTime> stops(scene.run.devices.size());
  for (const std::vector<std::size_t>& job : GroupJobs(scene)) {
    std::vector<ZeroRun> runs = scene.run.devices[job.front()].totals.zero_runs;
    // Only time in which the whole job is at 0 % can be used by others.
    for (const std::size_t i : job) runs = CommonRuns(runs, scene.run.devices[i].totals.zero_runs, least);
    for (const std::size_t i : job) {
      stops[i] = {runs, runs.empty() && !scene.run.devices[i].totals.zero_runs.empty(), job.size()};
    }
  }
  return stops;
}

std::int64_t BeyondGrace(const Thresholds& thresholds, const StopTime& stop, const Timeline& timeline,
                         const std::vector<bool>& taken) {
  const std::int64_t width = timeline.bucket_seconds * kNanosPerSecond;
  std::int64_t sum = 0;
  for (const ZeroRun& run : stop.runs) {
    std::int64_t inside = 0;
    const std::int64_t first = std::max<std::int64_t>(run.from / width - timeline.first, 0);
    for (auto b = static_cast<std::size_t>(first); b < taken.size(); ++b) {
      const std::int64_t begin = (timeline.first + static_cast<std::int64_t>(b)) * width;
      if (begin >= run.to()) break;
      if (!taken[b]) inside += std::max<std::int64_t>(std::min(run.to(), begin + width) - std::max(run.from, begin), 0);
    }
    sum += std::max<std::int64_t>(inside - thresholds.idle_grace.count(), 0);
  }
  return sum;
}

std::string WhyNoStop(const Scene& scene) {
  const std::vector<StopTime> stops = FindStopTimes(scene);
  if (std::any_of(stops.begin(), stops.end(), [](const StopTime& s) { return !s.runs.empty(); })) return "";
  const double minutes = Seconds(scene.thresholds.idle_after.count()) / 60;
  if (std::any_of(stops.begin(), stops.end(), [](const StopTime& s) { return s.peers_work; })) {
    return fmt::format(
        "other GPUs of the same job work while these are idle: all GPUs together are never at 0 % for {:g} minutes",
        minutes);
  }
  return fmt::format("no run of {:g} minutes or longer at 0 % on all GPUs of a job (--idle-after)", minutes);
}

namespace {

// Idle stretches of the run that belong to one cause.
struct IdleTally {
  explicit IdleTally(const CostReport& cost) : told(cost), unstopped(cost) {}
  std::int64_t ns = 0;
  std::int64_t stop_ns = 0;  // part of ns that stopping would have given back
  std::int64_t used_ns = 0;  // part of ns where the GPU was used a little
  bool listed = false;       // a process list was read for each GPU
  DeviceShares where;
  DeviceShares wasted;  // part of `where` without any kernel
  std::vector<DeviceId> gpus;
  std::vector<DeviceId> rest;  // the GPUs that are idle nearly throughout while their job works
  Example told;                // its counters tell whether the GPU was held
  Example unstopped;           // idle the longest without time to stop
};

// What tells who held the GPU: the process list, or memory if no list was read.
std::string HolderEvidence(const Scene& scene, const DeviceResult& d, std::string_view cause) {
  const auto& counters = scene.devices[d.device].counter;
  const bool held = cause == "idle_held";
  if (cause == "idle") return "neither a process list nor memory.used shows whether a process holds them";
  const std::string list =
      fmt::format("{} lists {} in that time", scene.Counter(d, Signal::kProcesses), held ? "a process" : "no process");
  const std::string memory =
      fmt::format("{} is {} {} MiB{}", scene.Counter(d, Signal::kMemoryUsed), held ? "at least" : "below",
                  scene.thresholds.held_memory >> 20, held ? ", held by some process" : "");
  if (counters[Index(Signal::kProcesses)].empty()) return memory + " in that time";
  return counters[Index(Signal::kMemoryUsed)].empty() ? list : list + ", or without a list " + memory;
}

// The idle stretches of one device, and what stopping would give back.
struct DeviceIdle {
  const DeviceResult* device = nullptr;
  IdleStretches idle;
  StopTime stop;
  std::int64_t stop_ns = 0;
  std::int64_t used_ns = 0;
  std::int64_t wasted_ns = 0;
};

// Adds `ns` of a device's idle stretches to the tally, with the same part of its other figures.
void AddIdle(const Scene& scene, const DeviceIdle& one, std::int64_t ns, IdleTally& tally) {
  if (ns == 0) return;
  const DeviceResult& d = *one.device;
  const double part = static_cast<double>(ns) / static_cast<double>(one.idle.TotalNs());
  const auto part_of = [&](std::int64_t all) {
    return scene.Weighted(std::llround(part * static_cast<double>(all)), d.device);
  };
  const bool listed = !scene.devices[d.device].counter[Index(Signal::kProcesses)].empty();
  tally.listed = (tally.gpus.empty() || tally.listed) && listed;
  tally.ns += scene.Weighted(ns, d.device);
  tally.stop_ns += part_of(one.stop_ns);
  tally.used_ns += part_of(one.used_ns);
  tally.where[d.device] += scene.Weighted(ns, d.device);
  tally.wasted[d.device] += part_of(one.wasted_ns);
  tally.gpus.push_back(d.device);
  tally.told.Offer(d);
  if (one.stop_ns == 0) tally.unstopped.Offer(d, static_cast<double>(ns));
  const bool rests = 10 * d.totals.phase_ns[kIdlePhase] > 9 * d.totals.ObservedNs();
  if (one.stop.peers_work && rests) tally.rest.push_back(d.device);
}

// Why nothing, or less than the idle time, can be stopped.
std::string WhyNotStopped(const Scene& scene, const IdleTally& tally, const std::vector<DeviceIdle>& devices) {
  const auto of = std::find_if(devices.begin(), devices.end(),
                               [&](const DeviceIdle& d) { return d.device == tally.unstopped.best(); });
  const double minutes = Seconds(scene.thresholds.idle_after.count()) / 60;
  if (of == devices.end()) return "less than a second is left to save beyond the grace time (--idle-grace)";
  if (of->stop.peers_work) {
    return fmt::format(
        "other GPUs of the same job work while {} is idle: the job waits or uses its GPUs unevenly, so idleburn does "
        "not advise to stop this GPU",
        scene.NameOf(of->device->device));
  }
  return fmt::format("no advice to stop {}: its job never had all GPUs at 0 % for {:g} minutes (--idle-after)",
                     scene.NameOf(of->device->device), minutes);
}

// A more precise title; empty if the cause's own title fits.
std::string IdleTitle(std::string_view cause, const IdleTally& tally) {
  const bool used = 2 * tally.used_ns > tally.ns;
  if (cause == "idle_held") return used ? "GPUs are held but hardly used" : "";
  if (cause != "idle") return "";
  return used ? "GPUs are used a few percent; no data on which process uses them"
              : "GPUs are idle for a minute or longer; no data on which process holds them";
}

// What to record next. If memory was read and does not tell, the process list remains.
std::string HowToTellHolders(const Scene& scene, const DeviceResult& d) {
  if (scene.devices[d.device].counter[Index(Signal::kMemoryUsed)].empty()) {
    return "record again with " + std::string(HowToRead(scene).holders);
  }
  return "record the processes together with this log: nvidia-smi "
         "--query-compute-apps=timestamp,gpu_uuid,pid,process_name,"
         "used_memory --format=csv -l 60";
}

// Adds a finding if the time is material, and claims its time. Time that is too little to be named stays waste
// without a cause (IdleClaim::unnamed_waste).
void ReportIdle(const Scene& scene, std::string_view cause, const IdleTally& tally,
                const std::vector<DeviceIdle>& devices, IdleClaim& claim, std::vector<Finding>& findings) {
  if (scene.Share(tally.ns) < kMaterialShare) {
    for (const auto& [device, ns] : tally.wasted) claim.unnamed_waste[device] += ns;
    return;
  }
  for (const auto& [device, ns] : tally.where) claim.ns[device] += ns;
  // Memory proves that a process is present. Only a process list proves that none is.
  const bool sure = cause == "idle_held" || (cause == "idle_empty" && tally.listed);
  Finding f = MakeFinding(scene, cause, sure ? Status::kConfirmed : Status::kLikely, tally.ns, tally.where);
  if (const std::string title = IdleTitle(cause, tally); !title.empty()) f.title = title;
  if (cause == "idle") f.isolate = HowToTellHolders(scene, *tally.told.best());
  f.bound = scene.Share(std::min(tally.stop_ns, tally.ns));
  claim.waste->Charge(tally.wasted, f);
  f.evidence.push_back(
      fmt::format("{} below {} % in stretches of {} s or more, for {:.0f} GPU-s in all "
                  "(threshold: 3 % of observed time): {}",
                  scene.BusyCounter(), InPercent(scene.thresholds.idle_below), kIdleStretchSeconds, Seconds(tally.ns),
                  scene.ListOf(tally.gpus)));
  f.evidence.push_back(HolderEvidence(scene, *tally.told.best(), cause));
  if (tally.stop_ns > 0) {
    f.evidence.push_back(
        fmt::format("{:.0f} GPU-s of that come after the first {:g} minutes of idle stretches of {:g} minutes or "
                    "longer, with all GPUs of a job at 0 %",
                    Seconds(tally.stop_ns), Seconds(scene.thresholds.idle_grace.count()) / 60,
                    Seconds(scene.thresholds.idle_after.count()) / 60));
  } else {
    f.evidence.push_back(WhyNotStopped(scene, tally, devices));
  }
  if (!tally.rest.empty()) {
    f.evidence.push_back(
        fmt::format("more than 90 % of the time of {} is idle while the job works: try the job on fewer GPUs",
                    scene.ListOf(tally.rest)));
    // To release a GPU of a job that works would stop the job.
    if (cause == "idle_empty" && tally.stop_ns == 0) f.isolate = "run the job on fewer GPUs, then idleburn compare";
  }
  findings.push_back(std::move(f));
}

// The idle stretches of one device, without the buckets that other findings claim.
DeviceIdle MeasureIdle(const Scene& scene, const DeviceResult& d, StopTime stop, std::vector<bool> taken) {
  const Timeline& timeline = d.totals.timeline;
  // A watched workload may starve its GPU. Only time without any kernel then counts as held without use.
  for (std::size_t b = 0; WatchesWorkload(scene) && b < taken.size(); ++b) {
    taken[b] = taken[b] || InUse(timeline.buckets[b]);
  }
  DeviceIdle one{&d, FindIdleStretches(d.totals, taken, scene.machine.host == nullptr), std::move(stop)};
  one.stop_ns = BeyondGrace(scene.thresholds, one.stop, timeline, taken);
  std::int64_t marked_ns = 0;
  double wasted = 0;
  for (std::size_t b = 0; b < one.idle.marked.size(); ++b) {
    if (!one.idle.marked[b]) continue;
    const std::int64_t idle = timeline.buckets[b].phase_ns[kIdlePhase];
    if (InUse(timeline.buckets[b])) one.used_ns += idle;
    marked_ns += idle;
    wasted += LostNs(timeline.buckets[b], idle);
  }
  one.wasted_ns = one.idle.TotalNs() - marked_ns + std::llround(wasted);  // unmarked time is at 0 %
  return one;
}

}  // namespace

// Measures every device first and reports by holder afterwards, so that one finding covers all GPUs of a kind.
IdleClaim FindIdle(const Scene& scene, Claims& claims, std::int64_t* unclear, std::vector<Finding>& findings) {
  IdleTally held(scene.cost);
  IdleTally empty(scene.cost);
  IdleTally unknown(scene.cost);
  std::vector<StopTime> stops = FindStopTimes(scene);
  std::vector<DeviceIdle> devices;
  for (std::size_t i = 0; i < scene.run.devices.size(); ++i) {
    devices.push_back(MeasureIdle(scene, scene.run.devices[i], std::move(stops[i]), claims.buckets[i]));
    const DeviceIdle& one = devices.back();
    for (std::size_t b = 0; b < one.idle.marked.size(); ++b)
      claims.buckets[i][b] = claims.buckets[i][b] || one.idle.marked[b];
    *unclear += scene.Weighted(one.idle.unclear_ns, one.device->device);
    AddIdle(scene, one, one.idle.held_ns, held);
    AddIdle(scene, one, one.idle.empty_ns, empty);
    AddIdle(scene, one, one.idle.unknown_ns, unknown);
  }
  IdleClaim claim{&claims.waste};
  ReportIdle(scene, "idle_held", held, devices, claim, findings);
  ReportIdle(scene, "idle_empty", empty, devices, claim, findings);
  ReportIdle(scene, "idle", unknown, devices, claim, findings);
  return claim;
}

namespace {

// Adds what the device does, as unions over its streams, by kind of work.
void AddWork(const TraceRows& rows, const TraceSlice& slice, SliceTraits* traits) {
  IntervalUnion compute;
  IntervalUnion comm;
  IntervalUnion copy;
  IntervalUnion htod;
  IntervalUnion dtoh;
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
        if (e.copy == CopyKind::kDtoH) dtoh.Add(s.at);
        break;
    }
  }
  traits->Of(Trait::kCompute) = compute.Take();
  traits->Of(Trait::kComm) = comm.Take();
  traits->Of(Trait::kCopy) = copy.Take();
  traits->Of(Trait::kHtod) = htod.Take();
  traits->Of(Trait::kDtoh) = dtoh.Take();
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
    gap.replay = gap.launch != nullptr && gap.launch->kind == CallKind::kLaunchGraph && !gap.inside_graph;
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
    if (gap.replay) Put(Trait::kGraphReplay, wait);
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
    if (call.kind == CallKind::kAllocate || call.kind == CallKind::kFree) {
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
  // Only the idle part of these matters. Less of them is less to walk over.
  const IntervalSet idle = Difference(IntervalSet::UnionOf({slice.at}), traits.busy);
  traits.Of(Trait::kFirstUse) = Intersection(idle, slice.first_use);
  traits.Of(Trait::kMemoryCall) = Intersection(idle, slice.memory_calls);
  traits.Of(Trait::kInDtohCall) = Intersection(idle, slice.to_host);
  traits.Of(Trait::kCut) = Intersection(idle, slice.cut);
  traits.Of(Trait::kOptimizer) = Intersection(idle, slice.optimizer);
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
