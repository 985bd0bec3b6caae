#include "diagnose/step_budget.h"

#include <numeric>
#include <utility>

namespace idleburn {

// Removes the instants of the slice whose traits are in the cut, and moves all its rows along.
void SliceCutter::Cut(TraceSlice* slice) {
  std::vector<Interval> parts;
  // The last nanosecond of a slice stays, except in the last one: slices must still meet in busy time.
  const std::int64_t border = slice->last ? slice->at.end : slice->at.end - 1;
  ForEachStretch(FindTraits(rows_, *slice, cut_.recorded).of, slice->at, [&](Interval at, Traits traits) {
    if (cut_.removed.Contains(traits)) parts.push_back({at.start, std::min(at.end, border)});
  });
  const IntervalSet removed = IntervalSet::UnionOf(std::move(parts));
  const SliceClock clock(slice->at, before_, removed);
  before_ += removed.TotalNs();

  slice->at = clock(slice->at);
  for (SliceEvent& e : slice->events) e.at = clock(e.at);
  std::sort(slice->events.begin(), slice->events.end(), [](const SliceEvent& a, const SliceEvent& b) {
    return a.at.start != b.at.start ? a.at.start < b.at.start : a.row < b.row;
  });
  for (SliceCall& call : slice->calls) call.at = clock(call.at);
  for (std::int64_t& launch : slice->launches) launch = clock(launch);
  for (IntervalSet* set :
       {&slice->dataloader, &slice->loader_ahead, &slice->cpu_op, &slice->scalar_read, &slice->overhead,
        &slice->peer_wait, &slice->first_use, &slice->memory_calls, &slice->to_host, &slice->cut, &slice->optimizer}) {
    *set = clock(*set);
  }
  slice->clock = clock;
}

MovedInstants::MovedInstants(std::vector<std::int64_t*> instants) : instants_(std::move(instants)) {
  std::sort(instants_.begin(), instants_.end(), [](const auto* a, const auto* b) { return *a < *b; });
}

// Moves the instants that lie in this slice.
void MovedInstants::Move(const TraceSlice& slice) {
  const Interval recorded = slice.clock.recorded();
  for (; next_ < instants_.size() && (slice.last || *instants_[next_] < recorded.end); ++next_) {
    std::int64_t& t = *instants_[next_];
    if (t < recorded.start) continue;  // before the window
    t = t <= recorded.end ? slice.clock(t) : t - recorded.end + slice.clock(recorded.end);
  }
}

namespace {

// Kernels below this length are usually dominated by launch cost.
constexpr std::int64_t kShortKernelNs = 10'000;

}  // namespace

// Counts one event. Medians need every walk; sums only the first.
void RowMeter::AddEvent(const DeviceEvent& event, std::int64_t ns, Take take) {
  if (event.op == DeviceOp::kKernel || event.op == DeviceOp::kComm) {
    (kernel_median_.*take)(ns);
    if (!first_walk_) return;
    ++kernels_.count;
    kernel_ns_ += ns;
    kernels_.under_10us += ns < kShortKernelNs ? 1 : 0;
  } else if (event.op == DeviceOp::kMemcpy) {
    Copies& copies = copies_[{event.copy, event.from, event.to}];
    (copies.bytes.*take)(event.bytes);
    if (event.copy == CopyKind::kHtoD) (htod_bytes_.*take)(event.bytes);
    if (!first_walk_) return;
    ++copies.figures.count;
    copies.figures.ns += ns;
    copies.figures.bytes += event.bytes;
  }
}

// An event that crosses slices is counted once, where it ends.
void RowMeter::Walk(const TraceSlice& slice, Take take) {
  for (const SliceEvent& s : slice.events) {
    // An event without length counts where it starts.
    Open event{s.at.Ns() + s.outside, s.at.Ns() > 0 || (s.begins && s.at.start < slice.at.end)};
    if (const auto open = open_.find(s.row); open != open_.end()) {
      event.ns += open->second.ns;
      event.seen = event.seen || open->second.seen;
      open_.erase(open);
    }
    if (s.goes_on) {
      open_[s.row] = event;
    } else if (event.seen) {
      AddEvent(device_.events[s.row], event.ns, take);
    }
  }
  for (const std::int64_t launch : slice.launches) {
    if (slice.last && launch >= slice.at.end) break;
    if (launched_) (launch_distance_.*take)(launch - *launched_);
    launched_ = launch;
  }
}

// After the first walk each median knows the range that holds it. The second walk collects only that range.
bool RowMeter::Narrow() {
  first_walk_ = false;
  launched_.reset();
  bool again = false;
  for (WalkedMedian* median : {&kernel_median_, &htod_bytes_, &launch_distance_}) again |= median->Narrow();
  for (auto& [key, copies] : copies_) again |= copies.bytes.Narrow();
  return again;
}

RowFigures RowMeter::Figures() const {
  RowFigures figures;
  figures.kernels = kernels_;
  if (kernels_.count > 0) {
    figures.kernels.mean_ns = static_cast<double>(kernel_ns_) / static_cast<double>(kernels_.count);
    figures.kernels.median_ns = kernel_median_.Value();
  }
  for (const auto& [key, copies] : copies_) {
    CopyFigures& copy = figures.copies.emplace_back(copies.figures);
    std::tie(copy.kind, copy.from, copy.to) = key;
    copy.median_bytes = copies.bytes.Value();
  }
  if (htod_bytes_.count() > 0) figures.htod_median_bytes = htod_bytes_.Value();
  if (launch_distance_.count() > 0) figures.launch_distance_ns = launch_distance_.Value();
  return figures;
}

namespace {

// A gap of 1 ms or more is long; the five longest are stored.
constexpr std::int64_t kLongGapNs = 1'000'000;
constexpr std::size_t kLongestGaps = 5;

// Orders gaps by length, and equal ones by start, so that the selection is unique.
bool IsLonger(Interval a, Interval b) { return std::pair(-a.Ns(), a.start) < std::pair(-b.Ns(), b.start); }

}  // namespace

bool IsRecurringLaunch(Traits traits) {
  return IsLaunchTime(traits) && !Has(traits, AnyOf(Trait::kFirstUse, Trait::kMemoryCall, Trait::kCut));
}

bool IsLaunchTime(Traits traits) {
  if (Has(traits, BitOf(Trait::kInsideGraph))) return false;
  if (Has(traits, BitOf(Trait::kQueuedWait)) && Has(traits, BitOf(Trait::kGraphReplay))) return true;
  if (Has(traits, AnyOf(Trait::kCpuOp, Trait::kHostOther, Trait::kLaunchLatency))) return true;
  return Has(traits, BitOf(Trait::kDataloader)) && Has(traits, BitOf(Trait::kLoaderAhead));
}

// Adds the slice in one walk over its stretches. A gap is counted where its last stretch ends.
void WindowSums::Add(const TraceSlice& slice, const SliceTraits& traits, const std::vector<ProfiledStep>& steps) {
  span_ = {start_.value_or(slice.at.start), slice.at.end};
  start_ = span_.start;
  auto gap = traits.gaps.begin();
  std::int64_t launch_ns = 0;
  ForEachStretch(traits.of, slice.at, [&](Interval at, Traits what) {
    ns_[what] += at.Ns();
    if (Has(what, kBusyTraits)) return;
    launch_ns += IsRecurringLaunch(what) ? at.Ns() : 0;
    if (at.end < gap->at.end) return;
    AddGap(*gap++, launch_ns, steps);
    launch_ns = 0;
  });
  KeepLongest(traits);
  if (!steps.empty()) {
    const Interval first{std::max(steps[0].start_ns, slice.at.start), std::min(steps[0].end_ns, slice.at.end)};
    ForEachStretch(traits.of, first, [&](Interval at, Traits what) { first_step_ns_[what] += at.Ns(); });
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Interval step{std::max(steps[i].start_ns, slice.at.start), std::min(steps[i].end_ns, slice.at.end)};
    if (step.Ns() > 0) busy_by_step_[i] += traits.busy.OverlapNs(step);
  }
}

// Counts a gap and its launch time, in total and by step.
void WindowSums::AddGap(const IdleGap& gap, std::int64_t launch_ns, const std::vector<ProfiledStep>& steps) {
  const std::int64_t ns = gap.at.Ns();
  ++gaps_.count;
  gaps_.longest_ns = std::max(gaps_.longest_ns, ns);
  if (ns >= kLongGapNs) {
    ++gaps_.long_count;
    gaps_.long_ns += ns;
  }
  if (gap.launch != nullptr) ++launches_[gap.launch->thread];
  if (launch_ns == 0) return;
  ++launch_gaps_;
  const auto after = std::partition_point(steps.begin(), steps.end(),
                                          [&gap](const ProfiledStep& step) { return step.start_ns <= gap.at.start; });
  std::int64_t& largest =
      largest_by_step_[static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - steps.begin() - 1, 0))];
  largest = std::max(largest, launch_ns);
}

// Keeps the longest gaps with their traits, in bounded memory.
void WindowSums::KeepLongest(const SliceTraits& traits) {
  std::vector<const IdleGap*> some;
  for (const IdleGap& gap : traits.gaps) {
    if (longest_.size() == kLongestGaps && !IsLonger(gap.at, longest_.back().at)) continue;
    some.push_back(&gap);
  }
  const auto middle = some.begin() + static_cast<std::ptrdiff_t>(std::min(kLongestGaps, some.size()));
  std::partial_sort(some.begin(), middle, some.end(),
                    [](const IdleGap* a, const IdleGap* b) { return IsLonger(a->at, b->at); });
  for (auto gap = some.begin(); gap != middle; ++gap) {
    std::unordered_map<Traits, std::int64_t> ns;
    ForEachStretch(traits.of, (*gap)->at, [&ns](Interval at, Traits what) { ns[what] += at.Ns(); });
    const HostCall* launch = (*gap)->launch;
    longest_.push_back({(*gap)->at, TimeSet(ns), launch == nullptr ? std::nullopt : std::optional(launch->thread)});
  }
  std::sort(longest_.begin(), longest_.end(),
            [](const KnownGap& a, const KnownGap& b) { return IsLonger(a.at, b.at); });
  if (longest_.size() > kLongestGaps) longest_.resize(kLongestGaps);
}

std::int64_t WindowSums::LargestLaunchGapsNs() const {
  return std::accumulate(largest_by_step_.begin(), largest_by_step_.end(), std::int64_t{0});
}

std::uint32_t WindowSums::LaunchingThread() const {
  const auto most = std::max_element(launches_.begin(), launches_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == launches_.end() ? 0 : most->first;
}

namespace {

constexpr double kMaterialGap = 0.03;  // of a step

// The class with the most time of a gap.
IdleClass MainClass(const TimeSet& gap) {
  IdleClass most = IdleClass::kDataloader;
  std::int64_t most_ns = 0;
  for (std::size_t c = 0; c < kIdleClasses; ++c) {
    const std::int64_t ns = gap.With(ToTrait(static_cast<IdleClass>(c))).TotalNs();
    if (ns > most_ns) most = static_cast<IdleClass>(c);
    most_ns = std::max(most_ns, ns);
  }
  return most;
}

// Names the functions behind the longest gaps. Only material gaps are worth the search.
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

// Fills in the budget's times from the traits.
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

// Fills in the classes of idle time.
void PutClasses(const TimeSet& time, TraceBudget& b) {
  b.idle_by_class.emplace();
  for (std::size_t c = 0; c < kIdleClasses; ++c) {
    (*b.idle_by_class)[c] = time.With(ToTrait(static_cast<IdleClass>(c))).TotalNs();
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
  return Trace({Window::kGpuSpan, EventSpan(rows_.device), peer_wait, slice_events_}, {}, nullptr);
}

std::optional<DeviceTrace> TracedDevice::Steps(const IntervalSet* peer_wait) const {
  std::vector<ProfiledStep> steps = StepsOf(rows_.profile, rows_.device);
  if (steps.empty()) return std::nullopt;
  const Interval span = StepWindow(steps);
  return Trace({Window::kProfilerSteps, span, peer_wait, slice_events_}, std::move(steps), nullptr);
}

// A second walk over the same slices, with the removed time cut out.
DeviceTrace TracedDevice::Without(const DeviceTrace& trace, const TimeSet& removed) const {
  const WindowSpec spec{trace.window, trace.budget.span, nullptr, slice_events_};
  TimeCut cut{Attribute(spec, nullptr), removed};
  cut.recorded.steady_ns = trace.SteadyNs();
  return Trace(spec, trace.steps, &cut);
}

// Needs another walk if several processes launch or ids may collide.
Attribution TracedDevice::Attribute(const WindowSpec& spec, const TimeCut* cut) const {
  Attribution attribution;
  attribution.window = spec.window;
  if (!several_processes_ && rows_.profile.correlation_by_process) return attribution;
  attribution.drivers.resize(UINT16_MAX + 1);
  ForEachSlice(rows_, spec, cut, [&](const TraceSlice& slice) { AddDrivers(rows_, slice, &attribution); });
  return attribution;
}

// Walks over the slices and sums them up. With a cut, `trace->steps` and `frames` move along, so that steps and
// functions keep their places beside the device's work.
WindowSums TracedDevice::Sum(const WindowSpec& spec, const TimeCut* cut, DeviceTrace* trace,
                             std::vector<HostFrame>* frames) const {
  Attribution attribution = Attribute(spec, cut);
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
    sums.Add(slice, FindTraits(rows_, slice, attribution), trace->steps);
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

// Walks over the window, and fills in everything that the rules use.
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
  trace.first = rows_.work.first;
  trace.allocations =
      std::count_if(rows_.work.allocation_starts.begin(), rows_.work.allocation_starts.end(),
                    [&](std::int64_t start) { return start >= spec.span.start && start < spec.span.end; });
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

// The busy time of each stream in the window.
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
