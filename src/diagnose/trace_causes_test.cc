#include "diagnose/trace_causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "diagnose/cause_table.h"
#include "diagnose/trace_rules.h"
#include "support/device_traces.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

using test::TinyProfile;

// Windows here are 10,000 us in five even steps: no noise, and 100 us are 1 %.
TinyProfile FiveSteps() {
  TinyProfile tiny;
  for (std::int64_t i = 0; i < 5; ++i) tiny.Step(i, 2000 * i, 2000 * (i + 1));
  return tiny;
}

struct Seen {
  std::vector<Finding> findings;
  std::vector<std::string> causes;  // in order
  StepStatistics steps;
};

Seen Diagnose(const Profile& profile, const PeerWait* peers = nullptr) {
  const DeviceTrace trace = test::TraceDevices(profile, peers == nullptr ? nullptr : &peers->waiting).back();
  Seen seen;
  seen.steps = MeasureSteps(trace.steps, trace.busy_by_step);
  seen.findings = FindTraceCauses({trace, seen.steps, peers}).findings;
  for (const Finding& f : seen.findings) seen.causes.emplace_back(f.cause);
  return seen;
}

using Causes = std::vector<std::string>;

// A kernel fills the window but for the first `us`, in which `before` may put something.
Profile FirstIdle(std::int64_t us, const std::function<void(TinyProfile&)>& before) {
  TinyProfile tiny = FiveSteps();
  before(tiny);
  return tiny.Kernel(us, 10000, us).Build();
}

bool Says(const std::vector<std::string>& sentences, std::string_view part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& s) { return s.find(part) != std::string::npos; });
}

// --- the table's own invariants
// ---------------------------------------------------------------------------------------

TEST(TraceRulesTest, NameCausesAndSayWhatTheyClaim) {
  for (const TraceRule& rule : TraceRules()) {
    EXPECT_EQ(CauseById(rule.cause).id, rule.cause);
    EXPECT_FALSE(rule.claims.empty());
    EXPECT_GE(rule.least, 0.03) << rule.cause;
  }
  for (const TestedShare& share : TestedShares()) EXPECT_EQ(share.next.empty(), share.record != nullptr) << share.id;
}

// --- the loader
// -------------------------------------------------------------------------------------------------------

TEST(TraceCausesTest, LoaderFromThreePercentOn) {
  const Seen at = Diagnose(FirstIdle(300, [](TinyProfile& t) { t.Loader(0, 300); }));
  ASSERT_EQ(at.causes, (Causes{"loader_cpu_spare_cores"}));
  const Finding& f = at.findings[0];
  EXPECT_EQ(f.status, Status::kLikely);
  EXPECT_DOUBLE_EQ(f.share, 0.03);
  EXPECT_DOUBLE_EQ(f.bound, 0.03);
  EXPECT_EQ(f.gpu_ns, 300'000);
  EXPECT_TRUE(Says(f.evidence,
                   "kineto.device_activity of device 0, profiler_steps: idle time inside the data loader is "
                   "0.3 ms of 10 ms, 3.0 % (3 % needed)"));
  EXPECT_TRUE(Says(f.evidence, "num_workers=0"));
  EXPECT_TRUE(Says(f.evidence, "alternative loader_cpu_no_cores: decided by"));
  EXPECT_TRUE(Says(f.evidence, "alternative storage: decided by"));
  EXPECT_FALSE(f.isolate.empty());

  EXPECT_EQ(Diagnose(FirstIdle(299, [](TinyProfile& t) { t.Loader(0, 299); })).causes, (Causes{"healthy"}));
}

// A loader that works while the device does costs nothing.
TEST(TraceCausesTest, LoaderBesideABusyDeviceIsNoCause) {
  EXPECT_EQ(Diagnose(FirstIdle(0, [](TinyProfile& t) { t.Loader(0, 9000); })).causes, (Causes{"healthy"}));
}

TEST(TraceCausesTest, WhatIsNotAboveTheNoiseOfStepsIsUnknown) {
  TinyProfile tiny;  // steps of 1, 1, 2, 3 and 3 ms: without the ends MAD = 1, median = 2
  tiny.Step(1, 0, 1000).Step(2, 1000, 2000).Step(3, 2000, 4000).Step(4, 4000, 7000).Step(5, 7000, 10000);
  const Seen seen = Diagnose(tiny.Loader(0, 3000).Kernel(3000, 10000, 3000).Build());
  EXPECT_DOUBLE_EQ(seen.steps.noise, 1);
  ASSERT_EQ(seen.causes, (Causes{"unknown"}));
  EXPECT_DOUBLE_EQ(seen.findings[0].share, 0.3);
  EXPECT_EQ(seen.findings[0].bound, 0);
  EXPECT_TRUE(Says(seen.findings[0].evidence, "not loader_cpu_spare_cores: it is within the noise"));
}

// Workers that start, kernels that are compiled: the steps after it have 100 of 5,000 us of it, and no fix has more.
TEST(TraceCausesTest, NoFixIsCreditedWithTheWarmUpOfTheFirstStep) {
  TinyProfile tiny;
  tiny.Step(0, 0, 6000);
  for (std::int64_t i = 1; i < 6; ++i) tiny.Step(i, 5000 + 1000 * i, 6000 + 1000 * i);
  tiny.Loader(0, 5000).Kernel(5000, 6000, 5000).Loader(6000, 6100).Kernel(6100, 11000, 6100);
  const Seen seen = Diagnose(tiny.Build());
  ASSERT_EQ(seen.causes, (Causes{"loader_cpu_spare_cores"}));
  EXPECT_DOUBLE_EQ(seen.findings[0].share, 5100.0 / 11000);
  EXPECT_NEAR(seen.findings[0].bound, 0.02, 1e-12);
  EXPECT_TRUE(Says(seen.findings[0].evidence, "5 ms of that are in the first step, with warm-up"));
}

// --- synchronisation
// --------------------------------------------------------------------------------------------------

TEST(TraceCausesTest, SynchronisationOfTheLaunchingThreadOverIdleTime) {
  const auto sync = [](std::int64_t us, const char* thread) {
    return Diagnose(
        FirstIdle(us, [&](TinyProfile& t) { t.Call("cudaStreamSynchronize", 0, us, thread).Op("aten::item", 0, us); }));
  };
  const Seen own = sync(300, "main");
  ASSERT_EQ(own.causes, (Causes{"synchronization"}));
  EXPECT_TRUE(Says(own.findings[0].evidence, "0.3 ms of that are inside item"));
  EXPECT_EQ(sync(299, "main").causes, (Causes{"healthy"}));

  const Seen other = sync(300, "watchdog");
  ASSERT_EQ(other.causes, (Causes{"unknown"}));
  EXPECT_EQ(other.findings[0].title, "No rule explains idle time inside synchronising calls");
}

// 90 % of the window is inside cudaStreamSynchronize, all of it while the device works.
TEST(TraceCausesTest, WaitingForABusyDeviceIsHarmless) {
  EXPECT_EQ(Diagnose(FirstIdle(10, [](TinyProfile& t) { t.Call("cudaStreamSynchronize", 20, 9020); })).causes,
            (Causes{"healthy"}));
}

// --- copies
// -----------------------------------------------------------------------------------------------------------

Seen Copies(MemoryKind from, std::int64_t bytes, std::int64_t us, CopyKind kind = CopyKind::kHtoD) {
  return Diagnose(FirstIdle(us, [&](TinyProfile& t) { t.Copy(kind, from, bytes, 0, us, 0); }));
}

TEST(TraceCausesTest, SmallOrPageableCopies) {
  EXPECT_EQ(Copies(MemoryKind::kPageable, 50'000'000, 300).causes, (Causes{"h2d_small"}));
  EXPECT_EQ(Copies(MemoryKind::kPageable, 50'000'000, 299).causes, (Causes{"healthy"}));
  EXPECT_EQ(Copies(MemoryKind::kPinned, 999'999, 300).causes, (Causes{"h2d_small"}));
  EXPECT_EQ(Copies(MemoryKind::kPinned, 1'000'000, 300).causes, (Causes{"unknown"}));
  EXPECT_EQ(Copies(MemoryKind::kUnknown, 999'999, 300).causes, (Causes{"h2d_small"}));
  // ROCm does not say whether host memory is pinned: then size alone decides.
  const Seen large = Copies(MemoryKind::kUnknown, 1'000'000, 300);
  EXPECT_EQ(large.causes, (Causes{"unknown"}));
  EXPECT_TRUE(Says(large.findings[0].evidence, "pageable memory: not measured"));
  EXPECT_EQ(Copies(MemoryKind::kPageable, 64, 300, CopyKind::kDtoH).causes, (Causes{"d2h"}));
}

TEST(TraceCausesTest, CopiesBesideComputeCostNothing) {
  TinyProfile tiny = FiveSteps();
  tiny.Kernel(0, 10000, 0).Copy(CopyKind::kHtoD, MemoryKind::kPageable, 64, 0, 9000, 0);
  EXPECT_EQ(Diagnose(tiny.Build()).causes, (Causes{"healthy"}));
}

// A pageable cudaMemcpyAsync stages on the CPU: the device waits inside the call, for no peer.
TEST(TraceCausesTest, QueuedWaitInsideACopyCallIsTheCopys) {
  TinyProfile tiny = FiveSteps();
  tiny.Copy(CopyKind::kHtoD, MemoryKind::kPageable, 1 << 26, 1000, 1010, 0, 1010).Kernel(1010, 10000, 1005);
  const Seen seen = Diagnose(tiny.Build());
  ASSERT_EQ(seen.causes, (Causes{"h2d_small"}));
  EXPECT_DOUBLE_EQ(seen.findings[0].share, 0.101);
}

TEST(TraceCausesTest, AFullLinkNeedsPinnedCopiesAtItsSpeed) {
  const auto copy = [](const char* model, MemoryKind from, std::int64_t bytes, std::int64_t us) {
    TinyProfile tiny = FiveSteps();
    tiny.Copy(CopyKind::kHtoD, from, bytes, 0, us, 0).Kernel(us, 10000, us);
    tiny.builder().Device(0).model = model;
    return Diagnose(tiny.Build()).causes;
  };
  const std::int64_t most = 126'000'000;  // 63 GB/s for 2 ms
  EXPECT_EQ(copy("NVIDIA H100 80GB HBM3", MemoryKind::kPinned, most * 6 / 10, 2000), (Causes{"h2d_bandwidth"}));
  EXPECT_EQ(copy("NVIDIA H100 80GB HBM3", MemoryKind::kPinned, most * 6 / 10 - 1000, 2000), (Causes{"unknown"}));
  EXPECT_EQ(copy("NVIDIA H100 80GB HBM3", MemoryKind::kPinned, most * 6 / 10, 1999), (Causes{"unknown"}));
  EXPECT_EQ(copy("NVIDIA H100 80GB HBM3", MemoryKind::kPageable, most * 6 / 10, 2000), (Causes{"h2d_small"}));
  EXPECT_EQ(copy("Some accelerator", MemoryKind::kPinned, most, 2000), (Causes{"unknown"}));
}

TEST(TraceCausesTest, OverlapSavesNoMoreThanTheLongerOfCopiesAndKernelsLeaves) {
  TinyProfile tiny = FiveSteps();
  tiny.Copy(CopyKind::kHtoD, MemoryKind::kPinned, 7 * 63'000'000, 0, 7000, 0).Kernel(7000, 10000, 7000);
  tiny.builder().Device(0).model = "NVIDIA H100 80GB HBM3";
  const Seen seen = Diagnose(tiny.Build());
  ASSERT_EQ(seen.causes, (Causes{"h2d_bandwidth"}));
  EXPECT_DOUBLE_EQ(seen.findings[0].share, 0.7);
  EXPECT_DOUBLE_EQ(seen.findings[0].bound, 0.3);
}

// --- memory
// -----------------------------------------------------------------------------------------------------------

// 4 % of the window idle in cudaFree, at a time; of 100 bytes of memory the allocator holds `reserved` (below 0: it
// does not say).
Seen Freeing(std::int64_t at, std::int64_t reserved) {
  TinyProfile tiny = FiveSteps();
  if (at > 0) tiny.Kernel(0, at, 0);
  tiny.Call("cudaFree", at, at + 400).Kernel(at + 400, 10000, at + 400);
  tiny.builder().Device(0).memory_bytes = 100;
  if (reserved >= 0) tiny.builder().AddReserved(0, reserved);
  return Diagnose(tiny.Build());
}

TEST(TraceCausesTest, MemoryPressureNeedsFullMemoryAndAnAllocatorThatGoesOnAsking) {
  const Seen full = Freeing(2000, 90);
  ASSERT_EQ(full.causes, (Causes{"memory_pressure"}));
  EXPECT_DOUBLE_EQ(full.findings[0].share, 0.04);
  EXPECT_DOUBLE_EQ(full.findings[0].bound, 0.04);
  EXPECT_EQ(full.findings[0].status, Status::kLikely);

  const Seen room = Freeing(2000, 89);
  ASSERT_EQ(room.causes, (Causes{"unknown"}));
  EXPECT_TRUE(Says(room.findings[0].evidence,
                   "not memory_pressure: peak device memory of the allocator: "
                   "89 % (90 % or more needed)"));
  const Seen untold = Freeing(2000, -1);
  ASSERT_EQ(untold.causes, (Causes{"unknown"}));
  EXPECT_TRUE(Says(untold.findings[0].evidence, "peak device memory of the allocator: not measured"));
  EXPECT_EQ(Freeing(0, 100).causes, (Causes{"first_use"}));  // the very first call creates the context
}

// --- launches
// ---------------------------------------------------------------------------------------------------------

// In each step `n` kernels, each after `gap` us in which the host prepares it.
TinyProfile Launches(std::int64_t n, std::int64_t gap) {
  TinyProfile tiny = FiveSteps();
  const std::int64_t period = 2000 / n;
  for (std::int64_t step = 0; step < 5; ++step) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t start = 2000 * step + i * period + gap;
      tiny.Kernel(start, i + 1 == n ? 2000 * (step + 1) : start + period - gap, start);
    }
  }
  return tiny;
}

TEST(TraceCausesTest, ManyLaunchesOverATenthOfEachStep) {
  const Seen at = Diagnose(Launches(20, 20).Build());
  ASSERT_EQ(at.causes, (Causes{"launch_bound"}));
  EXPECT_DOUBLE_EQ(at.findings[0].share, 0.2);
  EXPECT_DOUBLE_EQ(at.findings[0].bound, 0.2);
  EXPECT_TRUE(Says(at.findings[0].evidence, "idle gaps with host time in a step: 20 (20 or more needed)"));
  EXPECT_TRUE(Says(at.findings[0].refutes, "checked and not found"));

  const Seen less = Diagnose(Launches(20, 19).Build());
  ASSERT_EQ(less.causes, (Causes{"unknown"}));
  EXPECT_DOUBLE_EQ(less.findings[0].share, 0.19);
  EXPECT_TRUE(Says(less.findings[0].evidence, "19.0 % (20 % needed)"));

  const Seen fewer = Diagnose(Launches(16, 60).Build());
  ASSERT_EQ(fewer.causes, (Causes{"unknown"}));
  EXPECT_TRUE(Says(fewer.findings[0].evidence, "in a step: 16 (20 or more needed)"));
}

TEST(TraceCausesTest, ShortKernelsAloneAreNoCause) {
  TinyProfile tiny = FiveSteps();
  for (std::int64_t start = 0; start < 10000; start += 5) tiny.Kernel(start, start + 5, start > 200 ? start - 200 : 0);
  EXPECT_EQ(Diagnose(tiny.Build()).causes, (Causes{"healthy"}));
}

// A host that launches faster than the kernels run is not bound by launches, whatever else it does in between.
TEST(TraceCausesTest, LaunchesCloserThanTheKernelsAreLongRefuteIt) {
  TinyProfile tiny = Launches(20, 60);
  for (std::int64_t i = 0; i < 100; ++i) {
    for (std::int64_t k = 1; k < 4; ++k) tiny.Call("cudaLaunchKernel", 100 * i + k, 100 * i + k + 1, "main");
  }
  const Seen seen = Diagnose(tiny.Build());
  ASSERT_EQ(seen.causes, (Causes{"unknown"}));
  EXPECT_TRUE(Says(seen.findings[0].evidence, "not launch_bound: median kernel / median distance of launches"));
}

TEST(TraceCausesTest, WhatElseStandsBeforeTheDeviceRefutesLaunches) {
  const auto with = [](const std::function<void(TinyProfile&)>& put) {
    TinyProfile tiny = Launches(25, 40);
    put(tiny);
    return Diagnose(tiny.Build()).causes;
  };
  EXPECT_EQ(with([](TinyProfile&) {}), (Causes{"launch_bound"}));
  // 7 and 8 gaps of 40 us inside the loader: 2.8 and 3.2 %. Neither says anything about the other 47 %.
  EXPECT_EQ(with([](TinyProfile& t) { t.Loader(0, 560); }), (Causes{"launch_bound"}));
  EXPECT_EQ(with([](TinyProfile& t) { t.Loader(0, 640); }), (Causes{"launch_bound", "loader_cpu_spare_cores"}));
  EXPECT_EQ(with([](TinyProfile& t) { t.Call("cudaDeviceSynchronize", 0, 640); }),
            (Causes{"launch_bound", "synchronization"}));
  // 75 of 125 gaps: what holds the host up for longer refutes launches.
  EXPECT_EQ(with([](TinyProfile& t) { t.Loader(0, 6000); }), (Causes{"loader_cpu_spare_cores", "unknown"}));
  EXPECT_EQ(with([](TinyProfile& t) { t.Call("cudaDeviceSynchronize", 0, 6000); }),
            (Causes{"synchronization", "unknown"}));
}

// Idle while kernels are queued: the host was early, the device did not take them.
TEST(TraceCausesTest, ADeepQueueRefutesLaunches) {
  const auto queued = [](std::int64_t gaps) {
    TinyProfile tiny = FiveSteps();
    for (std::int64_t i = 0; i < 125; ++i) {
      const std::int64_t start = 80 * i + 40;
      tiny.Kernel(start, start + 40, i < gaps ? std::max<std::int64_t>(start - 200, 0) : start);
    }
    return Diagnose(tiny.Build());
  };
  EXPECT_EQ(queued(24).causes, (Causes{"launch_bound", "straggler_or_dependency"}));  // 9.6 %
  const Seen deep = queued(25);                                                       // 10 %
  ASSERT_EQ(deep.causes, (Causes{"unknown", "straggler_or_dependency"}));
  EXPECT_TRUE(Says(deep.findings[0].evidence, "10 % (10 % or more refutes it)"));
  EXPECT_EQ(deep.findings[1].status, Status::kLikely);
  EXPECT_EQ(deep.findings[1].bound, 0);
  EXPECT_TRUE(Says(deep.findings[1].evidence, "lie inside the launch call itself"));
}

TEST(TraceCausesTest, QueuedWaitInsideAKernelsLaunchCallIsNoPeers) {
  TinyProfile tiny = FiveSteps();
  tiny.Kernel(500, 10000, 0, 500);
  const Seen seen = Diagnose(tiny.Build());
  ASSERT_EQ(seen.causes, (Causes{"unknown"}));
  EXPECT_TRUE(Says(seen.findings[0].evidence, "of 0.5 ms of queued wait 0.5 ms lie inside the launch call itself"));
  // 3 % of the window after the call returned, then a little less.
  EXPECT_EQ(Diagnose(FiveSteps().Kernel(305, 10000, 0).Build()).causes, (Causes{"straggler_or_dependency"}));
  EXPECT_EQ(Diagnose(FiveSteps().Kernel(304, 10000, 0).Build()).causes, (Causes{"unknown"}));
}

// Between its first and last kernel the device is 99 % busy, but only 41 % of the step.
TEST(TraceCausesTest, OneLongGapNamesTheHostFunctionInsteadOfLaunches) {
  TinyProfile tiny = FiveSteps();
  tiny.Frame("video_classification.py(129): preprocess", 20, 5800);
  for (std::int64_t i = 0; i < 100; ++i) tiny.Kernel(5900 + 41 * i, 5900 + 41 * i + 40, 5900 + 41 * i);
  const Profile profile = tiny.Build();
  const std::vector<DeviceTrace> traces = test::TraceDevices(profile);
  EXPECT_GT(traces[0].budget.Share(traces[0].budget.busy_ns), 0.97);
  const Seen seen = Diagnose(profile);
  ASSERT_EQ(seen.causes, (Causes{"unknown"}));
  EXPECT_GT(seen.findings[0].share, 0.59);
  EXPECT_TRUE(Says(seen.findings[0].evidence, "lies in video_classification.py(129): preprocess (5.78 ms)"));
  EXPECT_TRUE(Says(seen.findings[0].evidence, "(more than 50 % refutes it)"));
}

// One gap of each step holds most of its host time: preprocessing, however many launches follow it.
TEST(TraceCausesTest, AFunctionInEveryStepIsNoLaunchOverhead) {
  TinyProfile tiny = FiveSteps();
  for (std::int64_t step = 0; step < 5; ++step) {
    for (std::int64_t i = 0; i < 25; ++i) {
      const std::int64_t start = 2000 * step + 1000 + 40 * i + 20;
      tiny.Kernel(start, start + 20, start);
    }
  }
  const Seen seen = Diagnose(tiny.Build());
  ASSERT_EQ(seen.causes, (Causes{"unknown"}));
  EXPECT_TRUE(Says(seen.findings[0].evidence, "share of that time in the largest gap of each step: 68"));
}

// What a thread of its own fetches ahead, nobody waits for: the launching thread is at work all the while.
TEST(TraceCausesTest, ALoaderThatFetchesAheadIsNoWait) {
  const auto with = [](std::string_view thread) {
    TinyProfile tiny = Launches(25, 40);
    tiny.builder().AddHostRange("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", {0, 10'000'000},
                                tiny.builder().Thread(thread));
    return Diagnose(tiny.Build());
  };
  EXPECT_EQ(with("main").causes, (Causes{"loader_cpu_spare_cores"}));
  const Seen ahead = with("fetcher");
  ASSERT_EQ(ahead.causes, (Causes{"launch_bound"}));
  EXPECT_DOUBLE_EQ(ahead.findings[0].share, 0.5);
  EXPECT_TRUE(Says(ahead.findings[0].evidence, "while a loader fetched ahead in a thread that launches nothing"));
}

TEST(TraceCausesTest, WithoutCollectivesNoRankIsBlamed) {
  const Finding alone = Diagnose(FiveSteps().Kernel(305, 10000, 0).Build()).findings[0];
  EXPECT_EQ(alone.cause, "straggler_or_dependency");
  for (const std::string& words : {alone.title, alone.isolate, alone.evidence.back()}) {
    EXPECT_FALSE(Says({words}, "rank")) << words;
  }
  const Finding peers = Diagnose(FiveSteps().Kernel(305, 9990, 0).Comm(9990, 10000, 9980).Build()).findings[0];
  EXPECT_TRUE(Says(peers.evidence, "traces of every rank show"));
}

// Each is busy half of the time; as one device they look busy.
TEST(TraceCausesTest, SeveralProcessesOnOneNumberAreNotCalledHealthy) {
  TinyProfile tiny = FiveSteps();
  tiny.InProcess("1").Kernel(0, 5000, 0);
  tiny.InProcess("2").Kernel(5000, 10000, 4990);
  const Seen seen = Diagnose(tiny.Build());
  ASSERT_EQ(seen.causes, (Causes{"unknown"}));
  EXPECT_TRUE(Says(seen.findings[0].evidence, "several processes launch on this device number"));
}

TEST(TraceCausesTest, AnAcceleratorThatIsNotUnderstoodIsNamedBesideAGpu) {
  Profile profile = FiveSteps().Kernel(0, 10000, 0).Build();
  profile.foreign_accelerators = {"xpu_runtime"};
  const Seen seen = Diagnose(profile);
  EXPECT_EQ(seen.causes, (Causes{"healthy"}));
  EXPECT_TRUE(Says(seen.findings[0].evidence, "xpu_runtime, an accelerator that idleburn does not support"));
}

TEST(TraceCausesTest, GapsInsideGraphsAreNoLaunches) {
  TinyProfile tiny = FiveSteps();
  for (std::int64_t step = 0; step < 5; ++step) tiny.Graph(2000 * step, 60, 40, 20, std::max(2000 * step - 50, 0L));
  const Seen queued = Diagnose(tiny.Build());  // 40 us each
  EXPECT_EQ(queued.causes, (Causes{"straggler_or_dependency"}));
  EXPECT_TRUE(Says(queued.findings[0].evidence, "between kernels of one graph launch"));
  TinyProfile close = FiveSteps();
  for (std::int64_t step = 0; step < 5; ++step) close.Graph(2000 * step, 75, 25, 20, std::max(2000 * step - 20, 0L));
  EXPECT_EQ(Diagnose(close.Build()).causes, (Causes{"unknown"}));  // 25 us each: latency, which no launch shortens
}

// --- communication
// ----------------------------------------------------------------------------------------------------

TEST(TraceCausesTest, CommunicationThatNothingHides) {
  const auto comm = [](std::int64_t us) { return Diagnose(FiveSteps().Comm(0, us, 0).Kernel(us, 10000, us).Build()); };
  const Seen at = comm(300);
  ASSERT_EQ(at.causes, (Causes{"comm_exposed"}));
  EXPECT_EQ(at.findings[0].status, Status::kLikely);
  EXPECT_DOUBLE_EQ(at.findings[0].bound, 0.03);
  EXPECT_TRUE(Says(at.findings[0].evidence, "idleburn cannot tell transfer from waiting for a late rank"));
  EXPECT_EQ(comm(299).causes, (Causes{"healthy"}));
  EXPECT_EQ(Diagnose(FiveSteps().Kernel(0, 10000, 0).Comm(0, 9000, 0).Build()).causes, (Causes{"healthy"}));
}

TEST(TraceCausesTest, OtherRanksTellTransferFromWaiting) {
  const Profile profile = FiveSteps().Comm(0, 1000, 0).Kernel(1000, 10000, 1000).Build();
  PeerWait peers;
  peers.waiting = IntervalSet::UnionOf({{0, 400'000}});
  peers.ranks = 2;
  peers.all_ranks = true;
  const Seen all = Diagnose(profile, &peers);
  ASSERT_EQ(all.causes, (Causes{"comm_exposed", "straggler_or_dependency"}));
  EXPECT_DOUBLE_EQ(all.findings[0].share, 0.06);
  EXPECT_EQ(all.findings[0].status, Status::kConfirmed);
  EXPECT_DOUBLE_EQ(all.findings[1].bound, 0.04);
  EXPECT_EQ(all.findings[1].status, Status::kConfirmed);

  peers.all_ranks = false;  // of eight, say: the transfer is an upper bound, and nobody knows what a fix gives
  const Seen some = Diagnose(profile, &peers);
  EXPECT_EQ(some.findings[1].bound, 0);
  EXPECT_EQ(some.findings[1].status, Status::kLikely);

  peers.waiting = IntervalSet::UnionOf({{0, 800'000}});  // 2 % of transfer: the rest is waiting
  EXPECT_EQ(Diagnose(profile, &peers).causes, (Causes{"straggler_or_dependency"}));
}

TEST(TraceCausesTest, RanksAndCallsThatAreMissingAreSaid) {
  TinyProfile tiny = FiveSteps();
  tiny.builder().header().world_size = 8;
  const Profile profile = tiny.Comm(0, 1000, 0).Kernel(1000, 10000, 1000).Build();
  PeerWait peers;
  peers.ranks = 2;
  peers.matched = 5;
  peers.unmatched = 3;
  const Seen seen = Diagnose(profile, &peers);
  EXPECT_TRUE(Says(seen.findings[0].evidence, "5 collectives matched on 2 of 8 ranks, 3 unmatched (0 ms): "));
  peers.all_ranks = true;  // three calls of eight may be anything
  EXPECT_EQ(Diagnose(profile, &peers).findings[0].status, Status::kLikely);
}

// Captures of several GPUs in one file have every rank, but not matched.
TEST(TraceCausesTest, GpusOfOneFileAreNotCalledOneRank) {
  TinyProfile tiny = FiveSteps();
  tiny.OnDevice(1).Comm(0, 1000, 0).OnDevice(0).Comm(0, 1000, 0).Kernel(1000, 10000, 1000);
  tiny.OnDevice(1).Kernel(1000, 10000, 1000);
  const Seen seen = Diagnose(tiny.Build());
  EXPECT_TRUE(Says(seen.findings[0].evidence, "the collectives of the 2 GPUs in this file are not matched"));
  EXPECT_FALSE(Says(seen.findings[0].evidence, "one rank"));
}

// The traces of all ranks are as many signals, even of three steps; one rank alone is at most likely.
TEST(TraceCausesTest, AllRanksConfirmAndOneAloneDoesNot) {
  TinyProfile tiny;
  tiny.Step(1, 0, 3000).Step(2, 3000, 6000).Step(3, 6000, 10000).Comm(0, 1000, 0);
  for (std::int64_t at = 1000; at < 10000; at += 500) tiny.Kernel(at, at + 500, at);
  PeerWait peers;
  peers.all_ranks = true;
  const Profile profile = tiny.Build();
  EXPECT_EQ(Diagnose(profile, &peers).findings[0].status, Status::kConfirmed);
  EXPECT_EQ(Diagnose(profile).findings[0].status, Status::kLikely);
}

// --- compute, and nothing
// ---------------------------------------------------------------------------------------------

TEST(TraceCausesTest, ComputeBoundNeedsTheSightOfALever) {
  const auto kernels = [](const char* name, std::int64_t named, std::int64_t busy) {
    TinyProfile tiny = FiveSteps();
    tiny.Kernel(0, named, 0, 5, name).Kernel(named, busy, 0);
    return Diagnose(tiny.Orphan(9990, 10000).Build()).causes;
  };
  EXPECT_EQ(kernels("volta_sgemm_64x64_nt", 300, 9990), (Causes{"compute_bound"}));
  EXPECT_EQ(kernels("volta_sgemm_64x64_nt", 299, 9990), (Causes{"healthy"}));
  EXPECT_EQ(kernels("void cutlass::gemm_nn_128x128<float>(float*)", 9000, 9990), (Causes{"healthy"}));
  EXPECT_EQ(kernels("volta_sgemm_64x64_nt", 300, 8900)[0], "unknown");  // and 10.9 % idle
}

TEST(TraceCausesTest, EveryOtherShareIsUnknownAndSaysWhatToMeasure) {
  const Seen orphan = Diagnose(FiveSteps().Orphan(300, 10000).Build());
  ASSERT_EQ(orphan.causes, (Causes{"unknown"}));
  EXPECT_TRUE(Says({orphan.findings[0].isolate}, "recording a step earlier"));
  EXPECT_EQ(orphan.findings[0].bound, 0);
  EXPECT_EQ(Diagnose(FiveSteps().Orphan(299, 10000).Build()).causes, (Causes{"healthy"}));

  const Seen tail = Diagnose(FiveSteps().Kernel(0, 9700, 0).Build());
  ASSERT_EQ(tail.causes, (Causes{"unknown"}));
  EXPECT_EQ(tail.findings[0].title, "No rule explains idle time at the end of the steps");
  EXPECT_EQ(Diagnose(FiveSteps().Kernel(0, 9701, 0).Build()).causes, (Causes{"healthy"}));
}

TEST(TraceCausesTest, HealthyNeedsABusyDeviceEvenIfNoShareIsLarge) {
  const auto four = [](std::int64_t us) {  // loader, sync, host and tail, `us` each
    TinyProfile tiny = FiveSteps();
    tiny.Loader(0, us)
        .Kernel(us, 3000, us)
        .Call("cudaStreamSynchronize", 3000, 3000 + us)
        .Kernel(3000 + us, 6000, 3000 + us);
    tiny.Kernel(6000 + us, 10000 - us, 6000 + us);
    return Diagnose(tiny.Build());
  };
  EXPECT_EQ(four(250).causes, (Causes{"healthy"}));
  const Seen low = four(251);
  ASSERT_EQ(low.causes, (Causes{"unknown"}));
  EXPECT_EQ(low.findings[0].status, Status::kUnknown);
  EXPECT_NEAR(low.findings[0].share, 0.1004, 1e-12);
}

TEST(TraceCausesTest, IdleTimeOfAmbiguousLaunchesIsUnknown) {
  ProfileBuilder b;
  for (const char* name : {"a", "b"})
    b.AddCall("cudaLaunchKernel", {0, 5'000, 1, 0, b.Process(name), CallKind::kOther});
  DeviceEvent e;
  e.end_ns = 1'000;
  b.AddDeviceEvent(0, e);
  e.correlation = 1;
  for (int i = 0; i < 10; ++i) {
    e.start_ns = 900'000 + 10'000 * i;
    e.end_ns = e.start_ns + 10'000;
    b.AddDeviceEvent(0, e);
  }
  b.header().correlation_by_process = false;
  const Seen seen = Diagnose(b.Build());
  ASSERT_EQ(seen.causes, (Causes{"unknown"}));
  EXPECT_TRUE(Says({seen.findings[0].isolate}, "several processes share correlation ids"));
}

TEST(TraceCausesTest, WhoeverUsesAnotherProfilerIsNotSentToPyTorchs) {
  std::vector<Profile> profiles = {TinyProfile().Op("aten::mm", 0, 10).Build(),     // no GPU
                                   FiveSteps().Orphan(300, 10000).Build(),          // no launch record
                                   FiveSteps().Kernel(5000, 10000, 4990).Build()};  // one long gap
  for (Profile& profile : profiles) {
    for (const auto& [kind, word] :
         {std::pair(ProfilerKind::kPyTorch, "torch.profiler"), std::pair(ProfilerKind::kNsight, "nsys profile"),
          std::pair(ProfilerKind::kXla, "profiler"), std::pair(ProfilerKind::kRocprof, "rocprofv3")}) {
      profile.kind = kind;
      const std::vector<Finding> findings =
          profile.devices.empty() ? std::vector{NoDevices(profile)} : Diagnose(profile).findings;
      EXPECT_TRUE(Says({findings[0].isolate}, word)) << findings[0].isolate;
      for (const Finding& f : findings) {
        EXPECT_EQ(Says({f.isolate}, "torch.profiler"), kind == ProfilerKind::kPyTorch) << f.isolate;
      }
    }
  }
}

TEST(TraceCausesTest, AFileWithoutDevicesSaysHowToRecordOne) {
  Profile profile = TinyProfile().Op("aten::mm", 0, 10).Build();
  const Finding plain = NoDevices(profile);
  EXPECT_EQ(plain.cause, "unknown");
  EXPECT_EQ(plain.status, Status::kUnknown);
  EXPECT_TRUE(Says(plain.evidence, "no GPU activity in this file; record with ProfilerActivity.CUDA / kineto CUPTI"));
  profile.events_missing = true;  // rows that are there but damaged are no missing profiler
  EXPECT_TRUE(Says(NoDevices(profile).evidence, "no GPU activity that can be read is in this file"));
  profile.foreign_accelerators = {"hpu_op"};
  const Finding foreign = NoDevices(profile);  // how to record a GPU is no help there
  EXPECT_TRUE(Says({foreign.evidence[0]}, "hpu_op, an accelerator that idleburn does not support"));
  EXPECT_EQ(foreign.isolate, "the profiler of that accelerator's vendor");
}

}  // namespace
}  // namespace idleburn
