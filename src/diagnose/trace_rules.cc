#include "diagnose/trace_rules.h"

#include <algorithm>

#include "text/figures.h"

namespace idleburn {
namespace {

// The capacity of a device's link to its host.
struct Link {
  std::string_view model;  // part of the device's name
  double gb_per_s;
};

// 16 lanes of PCIe 3, 4 and 5 after line coding (8, 16, 32 GT/s x 128/130 / 8), as in the data sheets of the
// boards. Grace Hopper and Grace Blackwell reach their host over NVLink-C2C. The first matching row of kLinks
// counts.
constexpr double kGen3 = 15.75;
constexpr double kGen4 = 31.5;
constexpr double kGen5 = 63;
constexpr double kC2c = 450;
constexpr auto kLinks = std::to_array<Link>({
    {"GH200", kC2c}, {"GB200", kC2c},   {"GB300", kC2c},   {"V100", kGen3},  {"P100", kGen3},  {"T4", kGen3},
    {"A100", kGen4}, {"A800", kGen4},   {"A30", kGen4},    {"A10", kGen4},   {"A40", kGen4},   {"A6000", kGen4},
    {"L40", kGen4},  {"RTX 30", kGen4}, {"RTX 40", kGen4}, {"MI250", kGen4}, {"H100", kGen5},  {"H800", kGen5},
    {"H200", kGen5}, {"B200", kGen5},   {"B300", kGen5},   {"MI300", kGen5}, {"MI325", kGen5}, {"RTX 50", kGen5},
});

}  // namespace

std::optional<double> HostLinkGBs(std::string_view model) {
  for (const Link& link : kLinks) {
    if (model.find(link.model) != std::string_view::npos) return link.gb_per_s;
  }
  return std::nullopt;
}

namespace {

// How a fact is written.
enum class FigureUnit : std::uint8_t { kShare, kCount, kBytes, kRatio };

// How a fact is named and written.
struct FactRow {
  Fact fact;
  FigureUnit unit;
  std::string_view phrase;
};

// In the order of Fact.
constexpr std::array<FactRow, kFacts> kRows = {{
    {Fact::kWaitsPerHost, FigureUnit::kRatio, "idle time in the loader and in synchronising calls / host time"},
    {Fact::kQueuedWait, FigureUnit::kShare, "queued wait (launched more than 30 us before the start)"},
    {Fact::kAllocations, FigureUnit::kCount, "calls that take or return memory"},
    {Fact::kFirstUseLater, FigureUnit::kRatio, "share of first use in the steps after the first / in all steps"},
    {Fact::kHostGaps, FigureUnit::kCount, "idle gaps with host time in a step"},
    {Fact::kLargestHostGap, FigureUnit::kShare, "share of that time in the largest gap of each step"},
    {Fact::kKernelPerLaunch, FigureUnit::kRatio, "median kernel / median distance of launches"},
    {Fact::kHtodMedianBytes, FigureUnit::kBytes, "median host-to-device copy"},
    {Fact::kHtodPageable, FigureUnit::kShare, "bytes copied to the device from pageable memory"},
    {Fact::kHtodPinned, FigureUnit::kShare, "bytes copied to the device from pinned memory"},
    {Fact::kLinkUse, FigureUnit::kShare, "rate of copies to the device, as a share of the link's rate"},
    {Fact::kMemoryHeld, FigureUnit::kShare, "peak device memory of the allocator"},
    {Fact::kFp32, FigureUnit::kShare, "single-precision matrix kernels (sgemm, scudnn)"},
}};

// Measures copies to the device and the memory that the allocator held.
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
  // Shares of pageable and pinned bytes need at least one copy of known kind.
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

namespace {

// The share of the steps after the first that is first use, over that of all steps. Steps that load code again and
// again have no warm-up. Absent with too few steps.
std::optional<double> FirstUseLater(const TraceScene& scene) {
  const DeviceTrace& trace = scene.trace;
  if (!scene.steps.Enough()) return std::nullopt;
  const std::int64_t all = FirstUseTime(scene).TotalNs();
  if (all == 0) return std::nullopt;
  const TimeSet first =
      trace.first_step.Where([](Traits t) { return Has(t, BitOf(Trait::kFirstUse)) && !Has(t, kBusyTraits); });
  const std::int64_t rest_ns = trace.budget.span.Ns() - trace.first_step.TotalNs();
  if (rest_ns <= 0) return 0;
  const double later = static_cast<double>(all - first.TotalNs()) / static_cast<double>(rest_ns);
  return later / trace.budget.Share(all);
}

}  // namespace

Facts MeasureFacts(const TraceScene& scene, const TimeSet& taken) {
  Facts facts;
  const auto set = [&](Fact f, double value) { facts[static_cast<std::size_t>(f)] = value; };
  const DeviceTrace& trace = scene.trace;
  MeasureMemory(trace, facts);
  set(Fact::kFp32, scene.Share(scene.trace.time.With(Trait::kFp32)));
  if (trace.launch_distance_ns.value_or(0) > 0) {
    set(Fact::kKernelPerLaunch, trace.budget.kernels.median_ns / *trace.launch_distance_ns);
  }
  set(Fact::kAllocations, static_cast<double>(trace.allocations));
  facts[static_cast<std::size_t>(Fact::kFirstUseLater)] = FirstUseLater(scene);
  // Without attribution nothing is known about the causes of idle time.
  if (!trace.budget.idle_by_class) return facts;
  const auto left_ns = [&](const TimeSet& time) { return static_cast<double>(Difference(time, taken).TotalNs()); };
  const double host = left_ns(LaunchTime(scene));
  const double waits = left_ns(LoaderTime(scene)) + left_ns(IdleTime(scene, IdleClass::kSyncApi));
  if (host > 0) set(Fact::kWaitsPerHost, waits / host);
  set(Fact::kQueuedWait, scene.Share(Difference(QueuedShare(scene), taken)));
  const auto steps = static_cast<double>(std::max<std::size_t>(trace.steps.size(), 1));
  set(Fact::kHostGaps, static_cast<double>(trace.launch_gaps) / steps);
  const std::int64_t launch_ns = scene.Where(IsRecurringLaunch).TotalNs();
  set(Fact::kLargestHostGap,
      launch_ns == 0 ? 0 : static_cast<double>(trace.largest_launch_gap_ns) / static_cast<double>(launch_ns));
  return facts;
}

bool TooShort(const TraceScene& scene) {
  constexpr std::int64_t kShortestNs = 1'000'000;
  constexpr std::int64_t kFewest = 10;
  const TraceBudget& b = scene.trace.budget;
  std::int64_t work = b.kernels.count;
  for (const CopyFigures& copy : b.copies) work += copy.count;
  return b.span.Ns() < kShortestNs || (work < kFewest && !scene.steps.Enough());
}

std::string DescribeBound(Fact fact, double value) {
  switch (kRows[static_cast<std::size_t>(fact)].unit) {
    case FigureUnit::kShare:
      return StatedPercent(value);
    case FigureUnit::kCount:
      return ThreeDigits(value);
    case FigureUnit::kBytes:
      return DecimalBytes(value);
    case FigureUnit::kRatio:
      break;
  }
  return ThreeDigits(value);
}

std::string Describe(Fact fact, std::optional<double> value) {
  const std::string phrase(kRows[static_cast<std::size_t>(fact)].phrase);
  return phrase + ": " + (value ? DescribeBound(fact, *value) : "not measured");
}

TimeSet IdleTime(const TraceScene& scene, IdleClass c) { return scene.trace.time.With(ToTrait(c)); }

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

TimeSet FirstUseTime(const TraceScene& scene) {
  return scene.Where([](Traits t) { return Has(t, BitOf(Trait::kFirstUse)) && !Has(t, kBusyTraits); });
}

TimeSet MemoryCallTime(const TraceScene& scene) { return scene.trace.time.With(Trait::kMemoryCall); }

TimeSet CutTime(const TraceScene& scene) { return scene.trace.time.With(Trait::kCut); }

TimeSet DtohTime(const TraceScene& scene) {
  return scene.Where([](Traits t) {
    const bool exposed = Has(t, BitOf(Trait::kDtoh)) && !Has(t, AnyOf(Trait::kCompute, Trait::kComm));
    return exposed || Has(t, BitOf(Trait::kInDtohCall));
  });
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
  return Union(ExposedHtodTime(scene), scene.Where([](Traits t) {
    return Has(t, AnyOf(Trait::kMemcpyApi, Trait::kInHtodCall)) && !Has(t, BitOf(Trait::kInDtohCall));
  }));
}

TimeSet QueuedShare(const TraceScene& scene) {
  return scene.Where([](Traits t) { return Has(t, BitOf(Trait::kQueuedWait)) && !Has(t, BitOf(Trait::kGraphReplay)); });
}

TimeSet QueuedTime(const TraceScene& scene) {
  return QueuedShare(scene).Where([](Traits t) { return !Has(t, BitOf(Trait::kInLaunchCall)); });
}

TimeSet ExposedComm(const TraceScene& scene) {
  return scene.Where([](Traits t) { return Has(t, BitOf(Trait::kComm)) && !Has(t, BitOf(Trait::kCompute)); });
}

TimeSet PeerTime(const TraceScene& scene) { return ExposedComm(scene).With(Trait::kPeerWait); }

TimeSet TransferTime(const TraceScene& scene) { return Difference(ExposedComm(scene), PeerTime(scene)); }

TimeSet ComputeTime(const TraceScene& scene) { return scene.trace.time.With(Trait::kCompute); }

const RecordAgain& HowToRecord(ProfilerKind profiler) {
  // In the order of ProfilerKind.
  static constexpr auto kTools = std::to_array<RecordAgain>({
      {"torch.profiler", "ProfilerActivity.CUDA / kineto CUPTI",
       "torch.profiler with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
       "record again with Python frames (torch.profiler with_stack=True) to name the functions",
       "start recording a step earlier (torch.profiler schedule(warmup=1))"},
      {"nsys profile", "--trace=cuda", "nsys profile --trace=cuda,nvtx, then nsys export --type sqlite",
       "record again with NVTX ranges around the host's work (nsys profile --trace=cuda,nvtx,osrt; of PyTorch's "
       "operators: torch.autograd.profiler.emit_nvtx) to name it",
       "start recording a step earlier (nsys profile --delay, or cudaProfilerStart with "
       "--capture-range=cudaProfilerApi)"},
      {"the TensorFlow or JAX profiler", "device_tracer_level=1",
       "the TensorFlow or JAX profiler in a process that has the GPU, with device_tracer_level=1 in its options",
       "record again with Python frames (python_tracer_level=1 in the profiler's options) to name the functions",
       "start the TensorFlow or JAX profiler a step earlier"},
      {"rocprofv3", "--kernel-trace",
       "rocprofv3 --hip-trace --kernel-trace --memory-copy-trace --marker-trace --output-format json",
       "record again with ROCTX ranges around the host's work (rocprofv3 --marker-trace) to name it",
       "start recording a step earlier (rocprofv3 --collection-period)"},
  });
  return kTools[static_cast<std::size_t>(profiler)];
}

namespace {

using Side = FactTest::Side;
using Gain = TraceRule::Gain;

constexpr double kMaterial = 0.03;  // the lowest threshold of comparable tools (xprof)

// Small or pageable copies; one of the two is enough.
constexpr auto kWeakCopies =
    std::to_array<FactTest>({{Fact::kHtodMedianBytes, Side::kBelow, 1e6}, {Fact::kHtodPageable, Side::kAtLeast, 0.5}});
// Pinned copies that use most of the speed of the link. Only fewer bytes help.
constexpr auto kFullLink =
    std::to_array<FactTest>({{Fact::kHtodPinned, Side::kAtLeast, 0.5}, {Fact::kLinkUse, Side::kAtLeast, 0.6}});
// A caching allocator only requests memory often when the device is nearly full.
constexpr auto kFullMemory = std::to_array<FactTest>({{Fact::kMemoryHeld, Side::kAtLeast, 0.9}});
// Many gaps in each step, with kernels shorter than the distance of their launches.
constexpr auto kManyLaunches =
    std::to_array<FactTest>({{Fact::kHostGaps, Side::kAtLeast, 20}, {Fact::kKernelPerLaunch, Side::kBelow, 1}});
// Launch cost is refuted by evidence of the same size: something else holds the host up for longer, or the host was
// early anyway. A loader of 3 % beside launches of 60 % refutes nothing.
constexpr auto kNotLaunches = std::to_array<FactTest>({
    {Fact::kWaitsPerHost, Side::kAtLeast, 1},    // something else holds the host up for longer
    {Fact::kQueuedWait, Side::kAtLeast, 0.1},    // a deep queue: the host was early
    {Fact::kLargestHostGap, Side::kAbove, 0.5},  // one function in each step, not many launches
});
// Taking memory is a cause if it comes often, and not at full memory, which is a cause of its own.
constexpr auto kManyAllocations = std::to_array<FactTest>({{Fact::kAllocations, Side::kAtLeast, 10}});
// Code that is loaded again in later steps is no first use.
constexpr auto kEveryStep = std::to_array<FactTest>({{Fact::kFirstUseLater, Side::kAtLeast, 0.5}});
// Matrix kernels in single precision: mixed precision would make them cheaper.
constexpr auto kFp32 = std::to_array<FactTest>({{Fact::kFp32, Side::kAtLeast, kMaterial}});

// The order matters, because a rule only sees time that earlier rules left.
constexpr auto kTraceRules = std::to_array<TraceRule>({
    {"unknown",
     "idle time in a wait for work that is not in the file: no device works while the call waits",
     CutTime,
     kMaterial,
     {},
     {},
     {},
     Gain::kUnknown,
     false,
     true,
     "The capture is cut: it waits for work that was launched before recording began"},
    {"first_use",
     "idle time while code is loaded, compiled or recorded for the first time",
     FirstUseTime,
     kMaterial,
     {},
     {},
     kEveryStep,
     Gain::kNone,
     false,
     true},
    {"memory_pressure",
     "idle time inside calls that allocate or free device memory, after the first step",
     AllocationTime,
     kMaterial,
     kFullMemory,
     {},
     {},
     Gain::kAll,
     false,
     true},
    {"allocation",
     "idle time inside calls that take or return memory",
     MemoryCallTime,
     kMaterial,
     kManyAllocations,
     {},
     kFullMemory,
     Gain::kSteady,
     false,
     true},
    {"loader_cpu_spare_cores", "idle time inside the data loader", LoaderTime, kMaterial, {}, {}, {}, Gain::kAll},
    {"synchronization",
     "idle time inside synchronising calls of the launching thread",
     SyncTime,
     kMaterial,
     {},
     {},
     {},
     Gain::kAll},
    {"h2d_bandwidth",
     "copies to the device that no compute hides",
     ExposedHtodTime,
     0.2,
     kFullLink,
     {},
     {},
     Gain::kOverlap},
    {"h2d_small",
     "copies to the device that no compute hides, and idle time inside copy calls",
     HtodTime,
     kMaterial,
     {},
     kWeakCopies,
     {},
     Gain::kAll},
    {"d2h",
     "copies to the host that no compute hides, and idle time inside their calls",
     DtohTime,
     kMaterial,
     {},
     {},
     {},
     Gain::kAll},
    {"launch_bound",
     "idle time in which the host prepares launches (operators, other host work, launch latency)",
     LaunchTime,
     0.2,
     kManyLaunches,
     {},
     kNotLaunches,
     Gain::kAll},
    {"comm_exposed", "communication that compute does not hide", TransferTime, kMaterial, {}, {}, {}, Gain::kAll, true},
    {"straggler_or_dependency",
     "exposed communication in which this rank waits for another",
     PeerTime,
     kMaterial,
     {},
     {},
     {},
     Gain::kAllRanks,
     true},
    {"straggler_or_dependency",
     "idle time with launched work queued, after the launch call returned",
     QueuedTime,
     kMaterial,
     {},
     {},
     {},
     Gain::kUnknown},
    {"compute_bound", "kernels that compute", ComputeTime, 0.9, kFp32, {}, {}, Gain::kUnknown},
});

// One class of idle time, as a function that a row of the table can name.
template <IdleClass c>
TimeSet IdleOf(const TraceScene& scene) {
  return IdleTime(scene, c);
}

// Copies and memsets that neither compute nor communication hides.
TimeSet ExposedCopy(const TraceScene& scene) {
  return scene.Where(
      [](Traits t) { return Has(t, BitOf(Trait::kCopy)) && !Has(t, AnyOf(Trait::kCompute, Trait::kComm)); });
}
// Idle time in a file whose launches are ambiguous.
TimeSet Unattributed(const TraceScene& scene) {
  return scene.trace.budget.idle_by_class ? TimeSet() : scene.Where([](Traits t) { return !Has(t, kBusyTraits); });
}

// Material rests of these times become findings of unknown cause.
constexpr auto kShares = std::to_array<TestedShare>({
    {"loader", "idle time inside the data loader", LoaderTime, "record at least four steps"},
    {"sync_api", "idle time inside synchronising calls", IdleOf<IdleClass::kSyncApi>, "", &RecordAgain::names},
    {"memcpy_api", "idle time inside copy calls", IdleOf<IdleClass::kMemcpyApi>, "", &RecordAgain::names},
    {"host", "idle time while the host prepares launches", HostTime, "", &RecordAgain::names},
    {"queued_wait", "idle time with launched work queued", QueuedShare,
     "record every rank at once: only then a trace shows waiting for a peer"},
    {"no_launch_record", "idle time before work without a launch in the file", IdleOf<IdleClass::kNoLaunchRecord>, "",
     &RecordAgain::early},
    {"tail_head", "idle time at the end of the steps", IdleOf<IdleClass::kTailHead>,
     "record 20 steps, so the end of the capture weighs less"},
    {"exposed_comm", "communication that compute does not hide", ExposedComm, "record every rank at once"},
    {"exposed_copy", "copies that compute does not hide", ExposedCopy, "", &RecordAgain::names},
    {"unattributed", "idle time with ambiguous launches", Unattributed,
     "record one process per file: several processes share correlation ids in this file"},
});

}  // namespace

std::span<const TraceRule> TraceRules() { return kTraceRules; }
std::span<const TestedShare> TestedShares() { return kShares; }

}  // namespace idleburn
