#include "diagnose/time_cut.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "diagnose/step_statistics.h"
#include "diagnose/trace_causes.h"
#include "support/any_profile.h"
#include "support/device_traces.h"
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
    ForEachStretch(TraitsOf(rows, slice, attribution).of, slice.at, [&](Interval at, Traits traits) {
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

}  // namespace
}  // namespace idleburn
