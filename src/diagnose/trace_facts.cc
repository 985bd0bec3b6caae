#include "diagnose/trace_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "diagnose/host_link.h"

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
  facts[static_cast<std::size_t>(Fact::kHtodMedianBytes)] = trace.htod_median_bytes;
  if (known > 0) {
    set(Fact::kHtodPageable, static_cast<double>(pageable) / static_cast<double>(bytes));
    set(Fact::kHtodPinned, static_cast<double>(pinned) / static_cast<double>(bytes));
  }
  facts[static_cast<std::size_t>(Fact::kMemoryHeld)] = MemoryHeld(*trace.device);
  const std::optional<double> link = HostLinkGBs(trace.device->model);
  if (link && ns > 0) set(Fact::kLinkUse, static_cast<double>(bytes) / static_cast<double>(ns) / *link);
}

}  // namespace

std::optional<double> MemoryHeld(const ProfiledDevice& device) {
  if (!device.most_reserved_bytes || device.memory_bytes.value_or(0) <= 0) return std::nullopt;
  return static_cast<double>(*device.most_reserved_bytes) / static_cast<double>(*device.memory_bytes);
}

Facts MeasureFacts(const TraceScene& scene) {
  Facts facts;
  const auto set = [&](Fact f, double value) { facts[static_cast<std::size_t>(f)] = value; };
  const DeviceTrace& trace = scene.trace;
  MeasureMemory(trace, facts);
  set(Fact::kFp32, scene.Share(scene.trace.time.With(Trait::kFp32)));
  if (trace.launch_distance_ns.value_or(0) > 0) {
    set(Fact::kKernelPerLaunch, trace.budget.kernels.median_ns / *trace.launch_distance_ns);
  }
  if (!trace.budget.idle_by_class) return facts;
  set(Fact::kLoader, scene.Share(LoaderTime(scene)));
  set(Fact::kSyncApi, scene.Share(IdleTime(scene, IdleClass::kSyncApi)));
  set(Fact::kQueuedWait, scene.Share(IdleTime(scene, IdleClass::kQueuedWait)));
  const auto steps = static_cast<double>(std::max<std::size_t>(trace.steps.size(), 1));
  set(Fact::kHostGaps, static_cast<double>(trace.launch_gaps) / steps);
  const std::int64_t launch_ns = LaunchTime(scene).TotalNs();
  set(Fact::kLargestHostGap,
      launch_ns == 0 ? 0 : static_cast<double>(trace.largest_launch_gap_ns) / static_cast<double>(launch_ns));
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

TimeSet IdleTime(const TraceScene& scene, IdleClass c) { return scene.trace.time.With(TraitOf(c)); }

TimeSet LoaderTime(const TraceScene& scene) {
  return scene.Where([](Traits t) { return Has(t, BitOf(Trait::kDataloader)) && !Has(t, BitOf(Trait::kLoaderAhead)); });
}

TimeSet HostTime(const TraceScene& scene) {
  return scene.Where([](Traits t) { return IsLaunchTime(t & ~BitOf(Trait::kInsideGraph)); });
}

TimeSet LaunchTime(const TraceScene& scene) { return scene.Where(IsLaunchTime); }

TimeSet SyncTime(const TraceScene& scene) {
  return scene.Where([](Traits t) { return Has(t, BitOf(Trait::kSyncApi)) && Has(t, BitOf(Trait::kOwnSync)); });
}

TimeSet AllocationTime(const TraceScene& scene) {
  constexpr Traits kBeforeLaunch =
      AnyOf(Trait::kDataloader, Trait::kSyncApi, Trait::kMemcpyApi, Trait::kCpuOp, Trait::kHostOther);
  return scene.Where([](Traits t) { return Has(t, kBeforeLaunch) && Has(t, BitOf(Trait::kAllocating)); });
}

TimeSet ExposedHtodTime(const TraceScene& scene) {
  return scene.Where(
      [](Traits t) { return Has(t, BitOf(Trait::kHtod)) && !Has(t, AnyOf(Trait::kCompute, Trait::kComm)); });
}

TimeSet HtodTime(const TraceScene& scene) {
  return Union(ExposedHtodTime(scene),
               scene.Where([](Traits t) { return Has(t, AnyOf(Trait::kMemcpyApi, Trait::kInHtodCall)); }));
}

TimeSet QueuedTime(const TraceScene& scene) {
  return scene.Where(
      [](Traits t) { return Has(t, BitOf(Trait::kQueuedWait)) && !Has(t, BitOf(Trait::kInLaunchCall)); });
}

TimeSet ExposedComm(const TraceScene& scene) {
  return scene.Where([](Traits t) { return Has(t, BitOf(Trait::kComm)) && !Has(t, BitOf(Trait::kCompute)); });
}

TimeSet PeerTime(const TraceScene& scene) { return ExposedComm(scene).With(Trait::kPeerWait); }

TimeSet TransferTime(const TraceScene& scene) { return Difference(ExposedComm(scene), PeerTime(scene)); }

TimeSet ComputeTime(const TraceScene& scene) { return scene.trace.time.With(Trait::kCompute); }

}  // namespace idleburn
