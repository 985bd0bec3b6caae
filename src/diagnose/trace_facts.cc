#include "diagnose/trace_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "diagnose/fp32_kernels.h"
#include "diagnose/host_link.h"
#include "stats/quantile.h"

namespace idleburn {
namespace {

enum class Unit : std::uint8_t { kShare, kCount, kBytes, kRatio };

struct FactRow {
  Fact fact;
  Unit unit;
  std::string_view phrase;
};

constexpr std::array<FactRow, kFacts> kRows = {{
    {Fact::kLoader, Unit::kShare, "idle time inside the data loader"},
    {Fact::kSyncApi, Unit::kShare, "idle time inside synchronising calls"},
    {Fact::kQueuedWait, Unit::kShare, "queued wait (launched more than 30 us before the start)"},
    {Fact::kHostGaps, Unit::kCount, "idle gaps with host time in a step"},
    {Fact::kLargestHostGap, Unit::kShare, "share of that time in the largest gap of each step"},
    {Fact::kKernelPerLaunch, Unit::kRatio, "median kernel / median distance of launches"},
    {Fact::kHtodMedianBytes, Unit::kBytes, "median host-to-device copy"},
    {Fact::kHtodPageable, Unit::kShare, "bytes copied to the device from pageable memory"},
    {Fact::kHtodPinned, Unit::kShare, "bytes copied to the device from pinned memory"},
    {Fact::kLinkUse, Unit::kShare, "rate of copies to the device, of the link's"},
    {Fact::kMemoryHeld, Unit::kShare, "device memory that the allocator holds at most"},
    {Fact::kFp32, Unit::kShare, "single-precision matrix kernels (sgemm, scudnn)"},
}};

// Of the idle gaps that hold some of `host`: how many there are, and the part of it in the largest one of each step.
struct GapSpread {
  double gaps = 0;
  double largest = 0;
};

GapSpread SpreadOver(const DeviceTrace& trace, const IntervalSet& host) {
  std::int64_t count = 0;
  std::vector<std::int64_t> largest(std::max<std::size_t>(trace.steps.size(), 1));
  for (const IdleGap& gap : trace.idle->gaps) {
    const std::int64_t ns = host.OverlapNs(gap.at);
    count += ns > 0 ? 1 : 0;
    const auto after =
        std::partition_point(trace.steps.begin(), trace.steps.end(),
                             [&gap](const ProfiledStep& step) { return step.start_ns <= gap.at.start; });
    const auto step = static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - trace.steps.begin() - 1, 0));
    largest[step] = std::max(largest[step], ns);
  }
  const auto all = static_cast<double>(std::accumulate(largest.begin(), largest.end(), std::int64_t{0}));
  const std::int64_t total = host.TotalNs();
  return {static_cast<double>(count), total == 0 ? 0 : all / static_cast<double>(total)};
}

// Median distance of the starts of successive launch calls in the window, by the processes that drive the device.
std::optional<double> LaunchDistance(const DeviceTrace& trace) {
  const Profile& profile = *trace.profile;
  std::vector<bool> drives(UINT16_MAX + 1, !profile.correlation_by_process);
  for (const DeviceEvent& e : trace.device->events) drives[e.process] = true;
  std::vector<std::int64_t> starts;
  const Interval window = trace.split.window;
  for (const HostCall& call : profile.calls) {
    if (call.kind != CallKind::kLaunchKernel || !drives[call.process]) continue;
    if (call.start_ns >= window.start && call.start_ns < window.end) starts.push_back(call.start_ns);
  }
  if (starts.size() < 2) return std::nullopt;
  std::sort(starts.begin(), starts.end());
  std::vector<double> distances;
  for (std::size_t i = 1; i < starts.size(); ++i) distances.push_back(static_cast<double>(starts[i] - starts[i - 1]));
  return Median(std::move(distances));
}

void MeasureMemory(const DeviceTrace& trace, Facts& facts) {
  const auto set = [&](Fact f, double value) { facts[static_cast<std::size_t>(f)] = value; };
  std::int64_t bytes = 0;
  std::int64_t ns = 0;
  std::int64_t pageable = 0;
  std::int64_t pinned = 0;
  std::int64_t known = 0;
  for (const CopyFigures& copy : trace.budget.copies) {
    if (copy.kind != CopyKind::kHtoD) continue;
    bytes += copy.bytes;
    ns += copy.ns;
    if (copy.from == MemoryKind::kPageable) pageable += copy.bytes;
    if (copy.from == MemoryKind::kPinned) pinned += copy.bytes;
    if (copy.from != MemoryKind::kUnknown) known += copy.bytes;
  }
  std::vector<double> sizes;
  for (const DeviceEvent& e : trace.device->events) {
    if (e.copy == CopyKind::kHtoD && e.start_ns < trace.split.window.end && e.end_ns > trace.split.window.start) {
      sizes.push_back(static_cast<double>(e.bytes));
    }
  }
  if (!sizes.empty()) set(Fact::kHtodMedianBytes, Median(std::move(sizes)));
  if (known > 0) {
    set(Fact::kHtodPageable, static_cast<double>(pageable) / static_cast<double>(bytes));
    set(Fact::kHtodPinned, static_cast<double>(pinned) / static_cast<double>(bytes));
  }
  const ProfiledDevice& device = *trace.device;
  if (device.most_reserved_bytes && device.memory_bytes.value_or(0) > 0) {
    set(Fact::kMemoryHeld,
        static_cast<double>(*device.most_reserved_bytes) / static_cast<double>(*device.memory_bytes));
  }
  const std::optional<double> link = HostLinkGBs(trace.device->model);
  if (link && ns > 0) set(Fact::kLinkUse, static_cast<double>(bytes) / static_cast<double>(ns) / *link);
}

}  // namespace

Facts MeasureFacts(const TraceScene& scene) {
  Facts facts;
  const auto set = [&](Fact f, double value) { facts[static_cast<std::size_t>(f)] = value; };
  const DeviceTrace& trace = scene.trace;
  MeasureMemory(trace, facts);
  set(Fact::kFp32, scene.Share(Fp32Time(*trace.profile, *trace.device, trace.split.window)));
  if (const std::optional<double> distance = LaunchDistance(trace); distance && *distance > 0) {
    set(Fact::kKernelPerLaunch, trace.budget.kernels.median_ns / *distance);
  }
  if (!trace.idle) return facts;
  set(Fact::kLoader, scene.Share(LoaderTime(scene)));
  set(Fact::kSyncApi, scene.Share(trace.idle->Of(IdleClass::kSyncApi)));
  set(Fact::kQueuedWait, scene.Share(trace.idle->Of(IdleClass::kQueuedWait)));
  const GapSpread spread = SpreadOver(trace, LaunchTime(scene));
  set(Fact::kHostGaps, spread.gaps / static_cast<double>(std::max<std::size_t>(trace.steps.size(), 1)));
  set(Fact::kLargestHostGap, spread.largest);
  return facts;
}

std::string DescribeBound(Fact fact, double value) {
  switch (kRows[static_cast<std::size_t>(fact)].unit) {
    case Unit::kShare:
      return fmt::format("{:.4g} %", 100 * value);
    case Unit::kCount:
      return fmt::format("{:.4g}", value);
    case Unit::kBytes:
      return fmt::format("{:.4g} MB", value / 1e6);
    case Unit::kRatio:
      break;
  }
  return fmt::format("{:.3g}", value);
}

std::string Describe(Fact fact, std::optional<double> value) {
  const std::string phrase(kRows[static_cast<std::size_t>(fact)].phrase);
  return phrase + ": " + (value ? DescribeBound(fact, *value) : "not measured");
}

IntervalSet IdleTime(const TraceScene& scene, IdleClass c) {
  return scene.trace.idle ? scene.trace.idle->Of(c) : IntervalSet();
}

IntervalSet LoaderTime(const TraceScene& scene) {
  return Difference(IdleTime(scene, IdleClass::kDataloader), scene.trace.profile->host.loader_ahead);
}

// What is left of idle time without the other classes: these are few where this one is much.
IntervalSet HostTime(const TraceScene& scene) {
  if (!scene.trace.idle) return {};
  IntervalSet others = LoaderTime(scene);
  for (const IdleClass c : {IdleClass::kSyncApi, IdleClass::kMemcpyApi, IdleClass::kQueuedWait,
                            IdleClass::kNoLaunchRecord, IdleClass::kTailHead}) {
    others = Union(others, scene.trace.idle->Of(c));
  }
  return Difference(scene.trace.split.idle, others);
}

IntervalSet LaunchTime(const TraceScene& scene) {
  return scene.trace.idle ? Difference(HostTime(scene), scene.trace.idle->inside_graph) : IntervalSet();
}

IntervalSet SyncTime(const TraceScene& scene) {
  if (!scene.trace.idle) return {};
  std::map<std::uint32_t, IntervalUnion> waits;  // by thread: the gaps that it ended with a launch
  for (const IdleGap& gap : scene.trace.idle->gaps) {
    if (gap.launch != nullptr) waits[gap.launch->thread].Add({gap.at.start, gap.LaunchedNs()});
  }
  std::map<std::uint32_t, IntervalUnion> syncs;
  for (const HostCall& call : scene.trace.profile->calls) {
    if (call.kind == CallKind::kSync && waits.contains(call.thread)) {
      syncs[call.thread].Add({call.start_ns, call.end_ns});
    }
  }
  IntervalSet own;
  for (auto& [thread, calls] : syncs) own = Union(own, Intersection(waits[thread].Take(), calls.Take()));
  return Intersection(own, scene.trace.idle->Of(IdleClass::kSyncApi));
}

IntervalSet AllocationTime(const TraceScene& scene) {
  const DeviceTrace& trace = scene.trace;
  if (!trace.idle) return {};
  IntervalUnion before_launches;
  for (const IdleGap& gap : trace.idle->gaps) {
    if (gap.launch != nullptr) before_launches.Add({gap.at.start, gap.LaunchedNs()});
  }
  const std::int64_t steady = trace.steps.size() > 1 ? trace.steps[1].start_ns : trace.split.window.start;
  IntervalUnion calls;
  for (const HostCall& call : trace.profile->calls) {
    if (call.kind == CallKind::kAllocate) calls.Add({std::max(call.start_ns, steady), call.end_ns});
  }
  return Intersection(before_launches.Take(), calls.Take());
}

IntervalSet ExposedHtodTime(const TraceScene& scene) { return scene.trace.split.exposed_htod; }

IntervalSet HtodTime(const TraceScene& scene) {
  const IntervalSet exposed = ExposedHtodTime(scene);
  if (!scene.trace.idle) return exposed;
  return Union(exposed, Union(IdleTime(scene, IdleClass::kMemcpyApi), scene.trace.idle->in_htod_call));
}

IntervalSet QueuedTime(const TraceScene& scene) {
  if (!scene.trace.idle) return {};
  return Difference(scene.trace.idle->Of(IdleClass::kQueuedWait), scene.trace.idle->in_launch_call);
}

IntervalSet PeerTime(const TraceScene& scene) {
  if (scene.peers == nullptr) return {};
  return Intersection(scene.trace.split.exposed_comm, scene.peers->waiting);
}

IntervalSet TransferTime(const TraceScene& scene) {
  return Difference(scene.trace.split.exposed_comm, PeerTime(scene));
}

IntervalSet ComputeTime(const TraceScene& scene) { return scene.trace.split.compute; }

}  // namespace idleburn
