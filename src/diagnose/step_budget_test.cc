#include "diagnose/step_budget.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "diagnose/trace_budget.h"
#include "diagnose/trace_causes.h"
#include "support/any_profile.h"
#include "support/device_traces.h"
#include "support/property.h"
#include "support/tiny_profile.h"
#include "support/without_time.h"

namespace idleburn {
namespace {

std::string Text(Interval i) { return fmt::format("[{}, {}) ", i.start, i.end); }

// All that a window was found to hold, in words: of the streams nothing is worked out after a cut.
std::string Text(const DeviceTrace& trace) {
  const TraceBudget& b = trace.budget;
  std::string text = fmt::format("{} {}busy {} compute {} comm {} exposed {} {} copy {} {} idle {} overhead {}\n",
                                 Name(b.window), Text(b.span), b.busy_ns, b.compute_ns, b.comm_ns, b.exposed_comm_ns,
                                 b.comm_overlap_ns, b.copy_ns, b.exposed_copy_ns, b.idle_ns, b.profiler_overhead_ns);
  if (b.idle_by_class) {
    for (const std::int64_t ns : *b.idle_by_class) text += fmt::format("{} ", ns);
    text += fmt::format("call {} graph {}\n", b.in_launch_call_ns, trace.time.With(Trait::kInsideGraph).TotalNs());
  }
  text += fmt::format("kernels {} {} {} {}; gaps {} {} {} {}; launches {} {}\n", b.kernels.count, b.kernels.median_ns,
                      b.kernels.mean_ns, b.kernels.under_10us, b.gaps.count, b.gaps.longest_ns, b.gaps.long_count,
                      b.gaps.long_ns, trace.launch_gaps, trace.largest_launch_gap_ns);
  for (const CopyFigures& c : b.copies) {
    text += fmt::format("{} {} {} {} {}\n", Name(c.kind), c.count, c.ns, c.bytes, c.median_bytes);
  }
  for (const LargeGap& gap : b.largest_gaps) {
    text += Text(gap.at) + std::string(Name(gap.mainly)) + Describe(gap.frames) + "\n";
  }
  for (std::size_t i = 0; i < trace.steps.size(); ++i) {
    text += Text({trace.steps[i].start_ns, trace.steps[i].end_ns}) + fmt::format("{}\n", trace.busy_by_step[i]);
  }
  const StepStatistics steps = MeasureSteps(trace.steps, trace.busy_by_step);
  for (const Finding& f : FindTraceCauses({trace, steps}).findings) {
    text += fmt::format("{} {} {} {}\n", f.cause, f.share, f.bound, f.title);
    for (const std::string& sentence : f.evidence) text += "  " + sentence + "\n";
  }
  return text + fmt::format("{} {}", trace.htod_median_bytes.value_or(-1), trace.launch_distance_ns.value_or(-1));
}

std::size_t AnySlice() { return *rc::gen::element<std::size_t>(1, 2, 3, 1000); }

// The instants of a set, found in one slice.
IntervalSet InstantsOf(const TraceRows& rows, const DeviceTrace& trace, const TimeSet& some) {
  const WindowSpec whole{trace.window, trace.budget.span, nullptr, SIZE_MAX};
  Attribution attribution;
  attribution.window = trace.window;
  attribution.possible = trace.budget.idle_by_class.has_value();
  attribution.drivers.resize(UINT16_MAX + 1);
  attribution.steady_ns = trace.SteadyNs();
  std::vector<Interval> parts;
  ForEachSlice(rows, whole, nullptr, [&](const TraceSlice& slice) {
    AddDrivers(rows, slice, &attribution);
    ForEachStretch(FindTraits(rows, slice, attribution).of, slice.at, [&](Interval at, Traits traits) {
      if (some.Contains(traits)) parts.push_back(at);
    });
  });
  return IntervalSet::UnionOf(std::move(parts));
}

void WhatIsLeftIsThatOfAProfileWithoutTheTime() {
  const Profile profile = test::AnyProfile();
  const LaunchIndex launches(profile);
  const StartOrder<HostCall> calls(profile.calls);
  const std::size_t d = *rc::gen::inRange<std::size_t>(0, profile.devices.size());
  const TracedDevice traced(profile, profile.devices[d], launches, calls, AnySlice());
  std::optional<DeviceTrace> trace = traced.Steps();
  if (!trace) trace = traced.GpuSpan();
  const auto any = *rc::gen::inRange<Traits>(1, Traits{1} << kTraits);
  const TimeSet removed = trace->time.Where([any](Traits t) { return !Has(t, BitOf(Trait::kCompute)) && Has(t, any); });
  const IntervalSet instants = InstantsOf({profile, profile.devices[d], launches, calls}, *trace, removed);
  RC_ASSERT(instants.TotalNs() == removed.TotalNs());
  const Profile shorter = test::WithoutTime(profile, d, instants);
  RC_ASSERT(Text(traced.Without(*trace, removed)) == Text(test::TraceDevices(shorter, nullptr, 1000).back()));
}

TEST(TimeCutTest, WhatIsLeftIsThatOfAProfileWithoutTheTime) {
  test::ExpectProperty("windows after a cut", WhatIsLeftIsThatOfAProfileWithoutTheTime);
}

void BordersOfSlicesShowInNothing() {
  const Profile profile = test::AnyProfile();
  const std::vector<DeviceTrace> whole = test::TraceDevices(profile, nullptr, SIZE_MAX);
  const std::vector<DeviceTrace> sliced = test::TraceDevices(profile, nullptr, AnySlice());
  RC_ASSERT(whole.size() == sliced.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    RC_ASSERT(Text(whole[i]) == Text(sliced[i]));
    RC_ASSERT(whole[i].time == sliced[i].time);
  }
}

TEST(TimeCutTest, BordersOfSlicesShowInNothing) {
  test::ExpectProperty("windows in slices", BordersOfSlicesShowInNothing);
}

// A copy that a fix takes away lies where the next one starts: the gap before both ends with the first of the file.
TEST(TimeCutTest, WhatCoincidesAfterACutComesAsInTheFile) {
  test::TinyProfile tiny;
  tiny.Kernel(0, 100, 0).Orphan(250, 300).Copy(CopyKind::kHtoD, MemoryKind::kPageable, 64, 200, 250, 190);
  const Profile profile = tiny.Build();
  const LaunchIndex launches(profile);
  const StartOrder<HostCall> calls(profile.calls);
  const TracedDevice traced(profile, profile.devices[0], launches, calls);
  const DeviceTrace trace = traced.GpuSpan();
  EXPECT_EQ(trace.budget.IdleNs(IdleClass::kNoLaunchRecord), 0);
  const DeviceTrace left = traced.Without(trace, trace.time.With(Trait::kHtod));
  EXPECT_EQ(left.budget.span, (Interval{0, 250'000}));
  EXPECT_EQ(left.budget.IdleNs(IdleClass::kNoLaunchRecord), 100'000);
}

using test::TinyProfile;

// --- the naive twin: one cell for each 10 us, everything looked up by scanning the rows of the profile ---------------

using test::kCell;

// What becomes of one cell of a window.
enum class Use : std::uint8_t { kCompute, kExposedComm, kExposedCopy, kIdle };

class Twin {
 public:
  Twin(const Profile& profile, const ProfiledDevice& device, Window window, Interval span)
      : profile_(profile), device_(device), window_(window), span_(span) {}

  [[nodiscard]] Use At(std::int64_t t) const {
    const auto any = [&](auto is) {
      return std::any_of(device_.events.begin(), device_.events.end(),
                         [&](const DeviceEvent& e) { return e.start_ns <= t && t < e.end_ns && is(e.op); });
    };
    if (any([](DeviceOp op) { return op == DeviceOp::kKernel; })) return Use::kCompute;
    if (any([](DeviceOp op) { return op == DeviceOp::kComm; })) return Use::kExposedComm;
    return any([](DeviceOp) { return true; }) ? Use::kExposedCopy : Use::kIdle;
  }

  [[nodiscard]] IdleClass ClassAt(std::int64_t t) const {
    const Interval gap = GapAt(t);
    if (window_ == Window::kProfilerSteps && gap.end == span_.end) return IdleClass::kTailHead;
    const HostCall* launch = LaunchOf(gap);
    if (launch == nullptr) return IdleClass::kNoLaunchRecord;
    const std::int64_t launched = std::clamp(launch->start_ns, gap.start, gap.end);
    if (t >= launched) {
      return gap.end - launched <= 3 * kCell ? IdleClass::kLaunchLatency : IdleClass::kQueuedWait;
    }
    return HostAt(t);
  }

  // A queued wait inside its own launch call.
  [[nodiscard]] bool InLaunchCall(std::int64_t t) const {
    return ClassAt(t) == IdleClass::kQueuedWait && t < LaunchOf(GapAt(t))->end_ns;
  }

 private:
  [[nodiscard]] Interval GapAt(std::int64_t t) const {
    Interval gap{t, t + kCell};
    while (gap.start > span_.start && At(gap.start - kCell) == Use::kIdle) gap.start -= kCell;
    while (gap.end < span_.end && At(gap.end) == Use::kIdle) gap.end += kCell;
    return gap;
  }

  [[nodiscard]] const HostCall* LaunchOf(Interval gap) const {
    for (const DeviceEvent& e : device_.events) {
      if (e.start_ns != gap.end) continue;
      for (const HostCall& call : profile_.calls) {
        if (call.correlation == e.correlation && e.correlation != kNoCorrelation && call.process == e.process) {
          return &call;
        }
      }
      return nullptr;  // only the first event counts
    }
    return nullptr;
  }

  [[nodiscard]] IdleClass HostAt(std::int64_t t) const {
    if (profile_.host.dataloader.OverlapNs({t, t + kCell}) > 0) return IdleClass::kDataloader;
    std::set<CallKind> kinds;
    for (const HostCall& call : profile_.calls) {
      if (call.start_ns <= t && t < call.end_ns && Drives(call.process)) kinds.insert(call.kind);
    }
    if (kinds.contains(CallKind::kSync)) return IdleClass::kSyncApi;
    if (kinds.contains(CallKind::kMemcpy)) return IdleClass::kMemcpyApi;
    return profile_.host.cpu_op.OverlapNs({t, t + kCell}) > 0 ? IdleClass::kCpuOp : IdleClass::kHostOther;
  }

  // Whether a process launched what ends some gap of the window.
  [[nodiscard]] bool Drives(std::uint16_t process) const {
    for (std::int64_t t = span_.start; t < span_.end; t += kCell) {
      if (At(t) != Use::kIdle) continue;
      const Interval gap = GapAt(t);
      if (window_ == Window::kProfilerSteps && gap.end == span_.end) continue;
      const HostCall* launch = LaunchOf(gap);
      if (launch != nullptr && launch->process == process) return true;
    }
    return false;
  }

  const Profile& profile_;
  const ProfiledDevice& device_;
  Window window_;
  Interval span_;
};

void BudgetIsThatOfTheTwin() {
  const Profile profile = test::AnyProfile();
  const std::size_t slice_events = *rc::gen::element<std::size_t>(1, 2, 1000);
  for (const DeviceTrace& trace : test::TraceDevices(profile, nullptr, slice_events)) {
    const TraceBudget& b = trace.budget;
    const Twin twin(profile, *trace.device, trace.window, b.span);
    std::map<Use, std::int64_t> uses;
    std::map<IdleClass, std::int64_t> classes;
    std::int64_t in_call = 0;
    std::int64_t gaps = 0;
    bool was_idle = false;
    for (std::int64_t t = b.span.start; t < b.span.end; t += kCell) {
      const Use use = twin.At(t);
      uses[use] += kCell;
      if (use == Use::kIdle) classes[twin.ClassAt(t)] += kCell;
      if (use == Use::kIdle && twin.InLaunchCall(t)) in_call += kCell;
      gaps += use == Use::kIdle && !was_idle ? 1 : 0;
      was_idle = use == Use::kIdle;
    }
    RC_ASSERT(b.compute_ns == uses[Use::kCompute]);
    RC_ASSERT(b.exposed_comm_ns == uses[Use::kExposedComm]);
    RC_ASSERT(b.exposed_copy_ns == uses[Use::kExposedCopy]);
    RC_ASSERT(b.idle_ns == uses[Use::kIdle]);
    RC_ASSERT(b.span.Ns() == b.compute_ns + b.exposed_comm_ns + b.exposed_copy_ns + b.idle_ns);
    RC_ASSERT(b.busy_ns == b.span.Ns() - b.idle_ns);
    RC_ASSERT(b.gaps.count == gaps);
    for (std::size_t c = 0; c < kIdleClasses; ++c) {
      RC_ASSERT((*b.idle_by_class)[c] == classes[static_cast<IdleClass>(c)]);
    }
    RC_ASSERT(b.in_launch_call_ns == in_call);
    const std::int64_t until_start = test::HostWaitNs(b) + test::LaunchToStartNs(b) + test::UnknownWaitNs(b);
    RC_ASSERT(b.idle_ns == until_start + b.IdleNs(IdleClass::kTailHead));
  }
}

TEST(StepBudgetTest, IsThatOfTheNaiveTwin) { test::ExpectProperty("budget and attribution", BudgetIsThatOfTheTwin); }

// --- by hand ---------------------------------------------------------------------------------------------------------

std::vector<std::int64_t> Microseconds(const TraceBudget& b) {
  std::vector<std::int64_t> us;
  for (const std::int64_t ns : *b.idle_by_class) us.push_back(ns / TinyProfile::kUs);
  return us;
}

TEST(StepBudgetTest, AttributesEachGapToWhatStoodBeforeIt) {
  TinyProfile tiny;
  tiny.Loader(0, 100).Op("aten::conv2d", 90, 130).Kernel(160, 200, 140);     // 100 loader, 30 op, 10 other, 20 latency
  tiny.Kernel(240, 300, 210);                                                // 10 other, 30 latency
  tiny.Kernel(331, 400, 290);                                                // queued for 31, from before the gap
  tiny.Copy(CopyKind::kHtoD, MemoryKind::kPageable, 64, 500, 520, 400, 80);  // 80 in the call, 20 after it
  tiny.Orphan(530, 540);
  tiny.Call("cudaStreamSynchronize", 545, 550).Kernel(560, 600, 555);  // 5 other, 5 sync, 5 other, 5 latency
  tiny.Step(1, 0, 650);
  const Profile profile = tiny.Build();
  const std::vector<DeviceTrace> traces = test::TraceDevices(profile);
  ASSERT_EQ(traces.size(), 2U);
  const TraceBudget& steps = traces[1].budget;
  EXPECT_EQ(steps.window, Window::kProfilerSteps);
  //                                                    loader sync copy op other latency queued orphan tail
  EXPECT_EQ(Microseconds(steps), (std::vector<std::int64_t>{100, 5, 0, 30, 30, 55, 131, 10, 50}));
  EXPECT_EQ(steps.in_launch_call_ns, 80'000);
  EXPECT_EQ(traces[1].time.With(Trait::kInHtodCall).TotalNs(), 80'000);
  EXPECT_EQ(steps.idle_ns, 411'000);
  EXPECT_EQ(steps.gaps.count, 7);
  EXPECT_EQ(steps.gaps.longest_ns, 160'000);

  const TraceBudget& gpu = traces[0].budget;  // hides what came before the first kernel and after the last
  EXPECT_EQ(gpu.window, Window::kGpuSpan);
  EXPECT_EQ(Microseconds(gpu), (std::vector<std::int64_t>{0, 5, 0, 0, 20, 35, 131, 10, 0}));
}

TEST(StepBudgetTest, DevicesThatOnlyCopyAreBusyButComputeNothing) {
  TinyProfile tiny;
  tiny.Copy(CopyKind::kHtoD, MemoryKind::kPinned, 1 << 20, 0, 100, 0);
  tiny.Copy(CopyKind::kDtoH, MemoryKind::kPinned, 1 << 20, 50, 150, 0);
  const Profile profile = tiny.Build();
  const std::vector<DeviceTrace> traces = test::TraceDevices(profile);
  const TraceBudget& b = traces[0].budget;
  EXPECT_EQ(b.busy_ns, 150'000);
  EXPECT_EQ(b.compute_ns, 0);
  EXPECT_EQ(b.exposed_copy_ns, 150'000);
  EXPECT_EQ(traces[0].time.With(Trait::kHtod).TotalNs(), 100'000);
  ASSERT_EQ(b.copies.size(), 2U);
  EXPECT_EQ(b.copies[0].bytes, 1 << 20);
  EXPECT_EQ(b.copies[0].ns, 100'000);
}

TEST(StepBudgetTest, BusyIsAUnionOverStreamsAndZeroLengthKernelsOnlyCount) {
  TinyProfile tiny;
  tiny.Kernel(0, 100, 0).Kernel(50, 150, 0).Kernel(160, 160, 0).Kernel(170, 180, 168);
  const Profile profile = tiny.Build();
  const TraceBudget b = test::TraceDevices(profile)[0].budget;
  EXPECT_EQ(b.busy_ns, 160'000);
  EXPECT_EQ(b.gaps.count, 1);
  EXPECT_EQ(b.kernels.count, 4);
  EXPECT_EQ(b.kernels.under_10us, 1);
  EXPECT_EQ(b.kernels.median_ns, 55'000);
  EXPECT_EQ(b.kernels.mean_ns, 52'500);
}

TEST(StepBudgetTest, GapsInsideAGraphAreNoLaunchCost) {
  TinyProfile tiny;
  tiny.Graph(100, 10, 5, 4, 80).Graph(400, 10, 50, 2, 380);
  const Profile profile = tiny.Build();
  const std::vector<DeviceTrace> traces = test::TraceDevices(profile);
  EXPECT_EQ(traces[0].time.With(Trait::kInsideGraph).TotalNs(), 3 * 5'000 + 50'000);
  EXPECT_EQ(traces[0].budget.IdleNs(IdleClass::kLaunchLatency), 3 * 5'000 + 20'000);
  EXPECT_EQ(traces[0].budget.IdleNs(IdleClass::kQueuedWait), 50'000);
}

// Ids repeat from process to process: joined on the id alone, the second kernel would be rank 0's.
TEST(StepBudgetTest, JoinsLaunchesWithinAProcess) {
  const auto two_ranks = [](bool apart) {
    ProfileBuilder b;
    for (const std::uint16_t process : {std::uint16_t{0}, std::uint16_t{1}}) {
      const std::int64_t launched = process == 0 ? 10'000 : 80'000;
      b.AddCall("cudaLaunchKernel", {launched, launched + 5'000, 7, 0, process, CallKind::kOther});
      DeviceEvent e;
      e.start_ns = 90'000;
      e.end_ns = 100'000;
      e.correlation = 7;
      e.process = process;
      b.AddDeviceEvent(process, e);
    }
    for (const char* name : {"rank 0", "rank 1"}) (void)b.Process(name);
    b.AddStep({0, 100'000, 1, 0});
    b.header().correlation_by_process = apart;
    return b.Build();
  };
  const Profile apart = two_ranks(true);
  const std::vector<DeviceTrace> traces = test::TraceDevices(apart);
  EXPECT_EQ(test::HostWaitNs(traces[1].budget), 10'000);
  EXPECT_EQ(test::HostWaitNs(traces[3].budget), 80'000);

  const Profile mixed = two_ranks(false);
  for (const DeviceTrace& trace : test::TraceDevices(mixed)) {
    if (trace.budget.idle_ns == 0) continue;
    EXPECT_FALSE(trace.budget.idle_by_class.has_value());
    EXPECT_EQ(trace.budget.idle_ns, 90'000);
  }
}

// Without process ids, ids that do not collide still name their launch.
TEST(StepBudgetTest, JoinsLaunchesByIdAloneWhereNoneCollides) {
  TinyProfile tiny;
  tiny.Kernel(0, 10, 0).Kernel(100, 110, 60);
  tiny.builder().header().correlation_by_process = false;
  const Profile profile = tiny.Build();
  const TraceBudget b = test::TraceDevices(profile)[0].budget;
  ASSERT_TRUE(b.idle_by_class);
  EXPECT_EQ(test::HostWaitNs(b), 50'000);
}

// Another rank's copies and synchronisation are not this one's.
TEST(StepBudgetTest, PaintsWithCallsOfItsOwnProcess) {
  TinyProfile tiny;
  tiny.InProcess("rank 0").Kernel(0, 10, 0).Kernel(100, 110, 95);
  tiny.InProcess("rank 1").Call("cudaMemcpyAsync", 20, 60).OnDevice(1).Kernel(0, 10, 0).Kernel(100, 110, 95);
  const Profile profile = tiny.Build();
  const std::vector<DeviceTrace> traces = test::TraceDevices(profile);
  EXPECT_EQ(traces[0].budget.IdleNs(IdleClass::kMemcpyApi), 0);
  EXPECT_EQ(traces[1].budget.IdleNs(IdleClass::kMemcpyApi), 40'000);
}

TEST(StepBudgetTest, NamesTheLargestGapsAndWhatCoversThem) {
  TinyProfile tiny;
  tiny.Frame("pipeline.py(129): preprocess", 0, 900).Frame("resize.py(7): resize", 10, 600);
  tiny.Frame("watchdog.py: run", 0, 900, "other").Kernel(905, 1000, 903).Kernel(1010, 1020, 1005).Step(1, 0, 1020);
  const Profile profile = tiny.Build();
  const std::vector<DeviceTrace> traces = test::TraceDevices(profile);
  const std::vector<LargeGap>& gaps = traces[1].budget.largest_gaps;
  ASSERT_EQ(gaps.size(), 2U);
  EXPECT_EQ(gaps[0].at, (Interval{0, 905'000}));
  EXPECT_EQ(gaps[0].mainly, IdleClass::kHostOther);
  EXPECT_EQ(Describe(gaps[0].frames),
            "pipeline.py(129): preprocess (0.9 ms), most of it in resize.py(7): resize (0.59 ms)");
  EXPECT_TRUE(gaps[1].frames.empty());  // too short to matter
}

TEST(StepBudgetTest, TellsTheProfilersOwnIdleTime) {
  TinyProfile tiny;
  tiny.Kernel(0, 10, 0).Kernel(100, 110, 95).builder().AddOverhead({5'000, 40'000});
  const Profile profile = tiny.Build();
  EXPECT_EQ(test::TraceDevices(profile)[0].budget.profiler_overhead_ns, 30'000);
}

TEST(StepBudgetTest, BusyTimeIsClippedToEachStep) {
  const Profile profile = TinyProfile().Step(0, 0, 1000).Step(1, 1000, 2000).Kernel(500, 1200, 490).Build();
  EXPECT_EQ(test::TraceDevices(profile)[1].busy_by_step, (std::vector<std::int64_t>{500'000, 200'000}));
}

TEST(StepBudgetTest, TakesTheStepsOfTheProcessesThatDriveTheDevice) {
  TinyProfile tiny;
  tiny.InProcess("rank 0").Step(1, 0, 100).Kernel(10, 20, 5);
  tiny.InProcess("rank 1").Step(1, 200, 300).OnDevice(1).Kernel(210, 220, 205);
  const Profile profile = tiny.Build();
  const std::vector<DeviceTrace> traces = test::TraceDevices(profile);
  EXPECT_EQ(traces[1].budget.span, (Interval{0, 100'000}));
  EXPECT_EQ(traces[3].budget.span, (Interval{200'000, 300'000}));
}

}  // namespace
}  // namespace idleburn
