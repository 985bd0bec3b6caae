#include "diagnose/step_budget.h"

#include <algorithm>
#include <map>
#include <utility>

namespace idleburn {
namespace {

constexpr double kMaterialGap = 0.03;  // of a step

IdleClass MainClass(const TimeSet& gap) {
  IdleClass most = IdleClass::kDataloader;
  std::int64_t most_ns = 0;
  for (std::size_t c = 0; c < kIdleClasses; ++c) {
    const std::int64_t ns = gap.With(TraitOf(static_cast<IdleClass>(c))).TotalNs();
    if (ns > most_ns) most = static_cast<IdleClass>(c);
    most_ns = std::max(most_ns, ns);
  }
  return most;
}

std::vector<LargeGap> NameLongest(const WindowSums& sums, const std::vector<HostFrame>& frames,
                                  const DeviceTrace& trace) {
  const std::size_t steps = std::max<std::size_t>(trace.steps.size(), 1);
  const double material = kMaterialGap * static_cast<double>(sums.span().Ns()) / static_cast<double>(steps);
  const std::uint32_t usual = sums.LaunchingThread();
  std::vector<LargeGap> gaps;
  for (const KnownGap& known : sums.longest()) {
    LargeGap& gap = gaps.emplace_back();
    gap.at = known.at;
    gap.mainly = MainClass(known.time);
    gap.time = known.time;
    if (static_cast<double>(gap.at.Ns()) < material) continue;
    gap.frames = FramesOver(frames, trace.profile->names, gap.at, known.thread.value_or(usual));
  }
  return gaps;
}

void PutTimes(const TimeSet& time, TraceBudget& b) {
  const auto ns = [&time](auto test) { return time.Where(test).TotalNs(); };
  const TimeSet compute = time.With(Trait::kCompute);
  const TimeSet comm = time.With(Trait::kComm);
  const TimeSet copy = time.With(Trait::kCopy);
  b.busy_ns = ns([](Traits t) { return Has(t, kBusyTraits); });
  b.compute_ns = compute.TotalNs();
  b.comm_ns = comm.TotalNs();
  b.exposed_comm_ns = Difference(comm, compute).TotalNs();
  b.comm_overlap_ns = b.comm_ns - b.exposed_comm_ns;
  b.copy_ns = copy.TotalNs();
  b.exposed_copy_ns = Difference(Difference(copy, compute), comm).TotalNs();
  b.idle_ns = time.TotalNs() - b.busy_ns;
  b.profiler_overhead_ns = ns([](Traits t) { return !Has(t, kBusyTraits) && Has(t, BitOf(Trait::kOverhead)); });
}

void PutClasses(const TimeSet& time, TraceBudget& b) {
  b.idle_by_class.emplace();
  for (std::size_t c = 0; c < kIdleClasses; ++c) {
    (*b.idle_by_class)[c] = time.With(TraitOf(static_cast<IdleClass>(c))).TotalNs();
  }
  b.in_launch_call_ns = time.With(Trait::kInLaunchCall).TotalNs();
}

}  // namespace

TracedDevice::TracedDevice(const Profile& profile, const ProfiledDevice& device, const LaunchIndex& launches,
                           const StartOrder<HostCall>& calls, std::size_t slice_events)
    : rows_{profile, device, launches, calls},
      slice_events_(slice_events),
      several_processes_(std::any_of(profile.calls.begin(), profile.calls.end(),
                                     [](const HostCall& call) { return call.process != 0; })) {}

DeviceTrace TracedDevice::GpuSpan(const IntervalSet* peer_wait) const {
  return Trace({Window::kGpuSpan, SpanOf(rows_.device), peer_wait, slice_events_}, {}, nullptr);
}

std::optional<DeviceTrace> TracedDevice::Steps(const IntervalSet* peer_wait) const {
  std::vector<ProfiledStep> steps = StepsOf(rows_.profile, rows_.device);
  if (steps.empty()) return std::nullopt;
  const Interval span = StepWindow(steps);
  return Trace({Window::kProfilerSteps, span, peer_wait, slice_events_}, std::move(steps), nullptr);
}

DeviceTrace TracedDevice::Without(const DeviceTrace& trace, const TimeSet& removed) const {
  const WindowSpec spec{trace.window, trace.budget.span, nullptr, slice_events_};
  TimeCut cut{AttributionOf(spec, nullptr), removed};
  cut.recorded.steady_ns = trace.SteadyNs();
  return Trace(spec, trace.steps, &cut);
}

// One more walk, where several processes launch or ids may collide.
Attribution TracedDevice::AttributionOf(const WindowSpec& spec, const TimeCut* cut) const {
  Attribution attribution;
  attribution.window = spec.window;
  if (!several_processes_ && rows_.profile.correlation_by_process) return attribution;
  attribution.drivers.resize(UINT16_MAX + 1);
  ForEachSlice(rows_, spec, cut, [&](const TraceSlice& slice) { AddDrivers(rows_, slice, &attribution); });
  return attribution;
}

// `trace->steps` and `frames` move with what is cut.
WindowSums TracedDevice::Sum(const WindowSpec& spec, const TimeCut* cut, DeviceTrace* trace,
                             std::vector<HostFrame>* frames) const {
  Attribution attribution = AttributionOf(spec, cut);
  WindowSums sums(trace->steps.size());
  RowMeter meter(rows_.device);
  std::vector<std::int64_t*> instants;
  if (cut != nullptr) {
    for (ProfiledStep& step : trace->steps) instants.insert(instants.end(), {&step.start_ns, &step.end_ns});
    for (HostFrame& frame : *frames) instants.insert(instants.end(), {&frame.start_ns, &frame.end_ns});
  }
  MovedInstants moved(std::move(instants));
  ForEachSlice(rows_, spec, cut, [&](const TraceSlice& slice) {
    moved.Move(slice);
    attribution.steady_ns = trace->SteadyNs();
    sums.Add(slice, TraitsOf(rows_, slice, attribution), trace->steps);
    meter.Count(slice);
  });
  if (meter.Narrow()) ForEachSlice(rows_, spec, cut, [&](const TraceSlice& slice) { meter.Collect(slice); });
  const RowFigures figures = meter.Figures();
  trace->budget.kernels = figures.kernels;
  trace->budget.copies = figures.copies;
  trace->htod_median_bytes = figures.htod_median_bytes;
  trace->launch_distance_ns = figures.launch_distance_ns;
  if (attribution.possible) PutClasses(sums.time(), trace->budget);
  return sums;
}

DeviceTrace TracedDevice::Trace(const WindowSpec& spec, std::vector<ProfiledStep> steps, const TimeCut* cut) const {
  DeviceTrace trace;
  trace.profile = &rows_.profile;
  trace.device = &rows_.device;
  trace.window = spec.window;
  trace.steps = std::move(steps);
  trace.budget.span = spec.span;
  std::vector<HostFrame> moved;
  if (cut != nullptr) moved = rows_.profile.frames;
  const WindowSums sums = Sum(spec, cut, &trace, &moved);
  trace.time = sums.time();
  trace.first_step = sums.first_step();
  trace.busy_by_step = sums.busy_by_step();
  trace.launch_gaps = sums.launch_gaps();
  trace.largest_launch_gap_ns = sums.LargestLaunchGapsNs();
  TraceBudget& b = trace.budget;
  b.device = rows_.device.id;
  b.window = spec.window;
  b.span = sums.span();
  b.gaps = sums.gaps();
  PutTimes(trace.time, b);
  if (cut == nullptr) b.streams = MeasureStreams(spec.span);
  if (b.idle_by_class) b.largest_gaps = NameLongest(sums, cut == nullptr ? rows_.profile.frames : moved, trace);
  return trace;
}

std::vector<StreamFigures> TracedDevice::MeasureStreams(Interval window) const {
  struct Stream {
    std::int64_t busy_ns = 0;
    std::int64_t until = INT64_MIN;
  };
  std::map<std::uint32_t, Stream> streams;
  for (StartOrder<DeviceEvent>::Walk walk(rows_.events); !walk.done(); walk.Next()) {
    const DeviceEvent& e = rows_.device.events[walk.row()];
    if (e.start_ns >= window.end || (e.end_ns <= window.start && e.start_ns != window.start)) continue;
    Stream& stream = streams[e.stream];
    stream.busy_ns += std::max<std::int64_t>(e.end_ns - std::max(e.start_ns, stream.until), 0);
    stream.until = std::max(stream.until, e.end_ns);
  }
  std::vector<StreamFigures> all;
  for (const auto& [id, stream] : streams) all.push_back({id, stream.busy_ns});
  return all;
}

}  // namespace idleburn
