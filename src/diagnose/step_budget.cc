#include "diagnose/step_budget.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "stats/quantile.h"

namespace idleburn {
namespace {

constexpr std::int64_t kLongGapNs = 1'000'000;
constexpr std::int64_t kShortKernelNs = 10'000;
constexpr std::size_t kLargestGaps = 5;
constexpr double kMaterialGap = 0.03;  // of a step

bool Overlaps(const DeviceEvent& e, Interval window) {
  return e.start_ns < window.end && (e.end_ns > window.start || e.start_ns == window.start);
}

bool IsKernel(const DeviceEvent& e) { return e.op == DeviceOp::kKernel || e.op == DeviceOp::kComm; }

KernelFigures MeasureKernels(const ProfiledDevice& device, Interval window) {
  KernelFigures figures;
  std::vector<double> durations;
  for (const DeviceEvent& e : device.events) {
    if (!IsKernel(e) || !Overlaps(e, window)) continue;
    const std::int64_t ns = e.end_ns - e.start_ns;
    durations.push_back(static_cast<double>(ns));
    figures.under_10us += ns < kShortKernelNs ? 1 : 0;
  }
  if (durations.empty()) return figures;
  figures.count = static_cast<std::int64_t>(durations.size());
  figures.mean_ns = std::accumulate(durations.begin(), durations.end(), 0.0) / static_cast<double>(durations.size());
  figures.median_ns = Median(std::move(durations));
  return figures;
}

GapFigures MeasureGaps(const IntervalSet& idle) {
  GapFigures figures;
  for (const Interval& gap : idle.parts()) {
    ++figures.count;
    figures.longest_ns = std::max(figures.longest_ns, gap.Ns());
    if (gap.Ns() < kLongGapNs) continue;
    ++figures.long_count;
    figures.long_ns += gap.Ns();
  }
  return figures;
}

std::vector<CopyFigures> MeasureCopies(const ProfiledDevice& device, Interval window) {
  std::map<std::tuple<CopyKind, MemoryKind, MemoryKind>, std::pair<CopyFigures, std::vector<double>>> kinds;
  for (const DeviceEvent& e : device.events) {
    if (e.op != DeviceOp::kMemcpy || !Overlaps(e, window)) continue;
    auto& [figures, sizes] = kinds[{e.copy, e.from, e.to}];
    ++figures.count;
    figures.ns += e.end_ns - e.start_ns;
    figures.bytes += e.bytes;
    sizes.push_back(static_cast<double>(e.bytes));
  }
  std::vector<CopyFigures> all;
  for (auto& [key, kind] : kinds) {
    auto& [figures, sizes] = kind;
    std::tie(figures.kind, figures.from, figures.to) = key;
    figures.median_bytes = Median(std::move(sizes));
    all.push_back(figures);
  }
  return all;
}

std::vector<StreamFigures> MeasureStreams(const ProfiledDevice& device, Interval window) {
  std::map<std::uint32_t, IntervalUnion> streams;
  for (const DeviceEvent& e : device.events) {
    if (Overlaps(e, window)) streams[e.stream].Add({e.start_ns, e.end_ns});
  }
  std::vector<StreamFigures> all;
  for (auto& [stream, busy] : streams) all.push_back({stream, busy.Take().TotalNs()});
  return all;
}

IdleClass MainClass(const IdleAttribution& idle, Interval gap) {
  std::size_t most = 0;
  std::int64_t most_ns = -1;
  for (std::size_t c = 0; c < kIdleClasses; ++c) {
    const std::int64_t ns = idle.by_class[c].OverlapNs(gap);
    if (ns > most_ns) most = c;
    most_ns = std::max(most_ns, ns);
  }
  return static_cast<IdleClass>(most);
}

// The thread that launches most of what ends gaps: it is asked what the host did where no launch tells.
std::uint32_t LaunchingThread(const IdleAttribution& idle) {
  std::map<std::uint32_t, std::size_t> launches;
  for (const IdleGap& gap : idle.gaps) {
    if (gap.launch != nullptr) ++launches[gap.launch->thread];
  }
  const auto most = std::max_element(launches.begin(), launches.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == launches.end() ? 0 : most->first;
}

std::vector<LargeGap> FindLargestGaps(const DeviceTrace& trace) {
  std::vector<const IdleGap*> longest;
  for (const IdleGap& gap : trace.idle->gaps) longest.push_back(&gap);
  const auto middle = longest.begin() + static_cast<std::ptrdiff_t>(std::min(kLargestGaps, longest.size()));
  std::partial_sort(longest.begin(), middle, longest.end(), [](const IdleGap* a, const IdleGap* b) {
    return std::pair(-a->at.Ns(), a->at.start) < std::pair(-b->at.Ns(), b->at.start);
  });
  longest.erase(middle, longest.end());
  const std::size_t steps = std::max<std::size_t>(trace.steps.size(), 1);
  const double material = kMaterialGap * static_cast<double>(trace.split.window.Ns()) / static_cast<double>(steps);
  const std::uint32_t usual = LaunchingThread(*trace.idle);
  std::vector<LargeGap> gaps;
  for (const IdleGap* gap : longest) {
    LargeGap large{gap->at, MainClass(*trace.idle, gap->at), {}};
    if (static_cast<double>(gap->at.Ns()) >= material) {
      large.frames = FramesOver(*trace.profile, gap->at, gap->launch == nullptr ? usual : gap->launch->thread);
    }
    gaps.push_back(std::move(large));
  }
  return gaps;
}

TraceBudget MakeBudget(const DeviceTrace& trace) {
  const TimeSplit& split = trace.split;
  TraceBudget b;
  b.device = trace.device->id;
  b.window = trace.window;
  b.span = split.window;
  b.busy_ns = split.busy.TotalNs();
  b.compute_ns = split.compute.TotalNs();
  b.comm_ns = split.comm.TotalNs();
  b.exposed_comm_ns = split.exposed_comm.TotalNs();
  b.comm_overlap_ns = b.comm_ns - b.exposed_comm_ns;
  b.copy_ns = split.copy.TotalNs();
  b.exposed_copy_ns = split.exposed_copy.TotalNs();
  b.idle_ns = split.idle.TotalNs();
  b.profiler_overhead_ns = Intersection(split.idle, trace.profile->host.overhead).TotalNs();
  b.kernels = MeasureKernels(*trace.device, split.window);
  b.gaps = MeasureGaps(split.idle);
  b.copies = MeasureCopies(*trace.device, split.window);
  b.streams = MeasureStreams(*trace.device, split.window);
  if (!trace.idle) return b;
  b.idle_by_class.emplace();
  for (std::size_t c = 0; c < kIdleClasses; ++c) (*b.idle_by_class)[c] = trace.idle->by_class[c].TotalNs();
  b.in_launch_call_ns = trace.idle->in_launch_call.TotalNs();
  b.inside_graph_ns = trace.idle->inside_graph.TotalNs();
  b.largest_gaps = FindLargestGaps(trace);
  return b;
}

// What the windows of one device share.
struct WindowTracer {
  const Profile& profile;
  const ProfiledDevice& device;
  const DeviceTimeline& timeline;
  const LaunchIndex& launches;

  [[nodiscard]] DeviceTrace GpuSpan() const { return Trace(Window::kGpuSpan, timeline.span, {}); }
  // At least one step.
  [[nodiscard]] DeviceTrace Steps(std::vector<ProfiledStep> steps) const {
    const Interval span = StepWindow(steps);
    return Trace(Window::kProfilerSteps, span, std::move(steps));
  }

 private:
  [[nodiscard]] DeviceTrace Trace(Window window, Interval span, std::vector<ProfiledStep> steps) const {
    DeviceTrace t{&profile, &device, window, std::move(steps), SplitTime(timeline, span), std::nullopt, {}};
    t.idle = AttributeIdle(profile, device, timeline, launches, window, t.split);
    t.budget = MakeBudget(t);
    return t;
  }
};

}  // namespace

std::int64_t TraceBudget::HostWaitNs() const {
  std::int64_t ns = 0;
  for (auto c = static_cast<std::size_t>(IdleClass::kDataloader); c <= static_cast<std::size_t>(IdleClass::kHostOther);
       ++c) {
    ns += (*idle_by_class)[c];
  }
  return ns;
}

std::int64_t TraceBudget::LaunchToStartNs() const {
  return IdleNs(IdleClass::kLaunchLatency) + IdleNs(IdleClass::kQueuedWait);
}

void ForEachTrace(const Profile& profile, const std::function<void(const DeviceTrace&)>& take) {
  const LaunchIndex launches(profile);
  for (const ProfiledDevice& device : profile.devices) {
    const DeviceTimeline timeline(device);
    const WindowTracer tracer{profile, device, timeline, launches};
    std::vector<ProfiledStep> steps = StepsOf(profile, device);
    {
      DeviceTrace span = tracer.GpuSpan();
      span.decides = steps.empty();
      take(span);
    }
    if (!steps.empty()) take(tracer.Steps(std::move(steps)));
  }
}

DeviceTrace TraceDecidingWindow(const Profile& profile, const ProfiledDevice& device) {
  const LaunchIndex launches(profile);
  const DeviceTimeline timeline(device);
  const WindowTracer tracer{profile, device, timeline, launches};
  std::vector<ProfiledStep> steps = StepsOf(profile, device);
  return steps.empty() ? tracer.GpuSpan() : tracer.Steps(std::move(steps));
}

}  // namespace idleburn
