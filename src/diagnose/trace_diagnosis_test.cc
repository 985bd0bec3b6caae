#include "diagnose/trace_diagnosis.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "diagnose/trace_causes.h"
#include "diagnose/trace_rows.h"
#include "diagnose/trace_rules.h"
#include "support/device_traces.h"
#include "support/property.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

TEST(KernelClassesTest, TheLongestFirstWithTheirClass) {
  test::TinyProfile tiny;
  tiny.Kernel(0, 10, 0, 5, "a").Kernel(10, 20, 5, 5, "a").Kernel(20, 25, 9, 5, "b").Comm(30, 80, 20);
  tiny.Copy(CopyKind::kHtoD, MemoryKind::kPinned, 1, 80, 1000, 70);
  const Profile profile = tiny.Build();
  const std::vector<KernelClass> top = TopKernels(profile, profile.devices[0], 2);
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(top[0].name, "ncclDevKernel_AllReduce");
  EXPECT_EQ(top[0].op, DeviceOp::kComm);
  EXPECT_EQ(top[1].name, "a");
  EXPECT_EQ(top[1].count, 2);
  EXPECT_EQ(top[1].ns, 20'000);
}

TEST(KernelClassesTest, SinglePrecisionIsReadFromLibraryNamesOnly) {
  for (const char* name : {"volta_sgemm_64x64_nt", "sgemm_32x32", "ampere_sgemm_128x64_tn",
                           "cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1",
                           "void implicit_convolve_sgemm<float, float, 1024, 6>(int)"}) {
    EXPECT_TRUE(IsFp32Matrix(name)) << name;
  }
  for (const char* name : {"", "gemm", "void cutlass::gemm_nn_128x128<float>(float*)", "volta_hgemm_64x64",
                           "cutlass_80_tensorop_s1688gemm_256x64", "Cijk_Alik_Bljk_BBS_BH", "hsgemm", "s884cudnn"}) {
    EXPECT_FALSE(IsFp32Matrix(name)) << name;
  }
}

TEST(KernelClassesTest, LinksAreThoseOfTheBoards) {
  EXPECT_EQ(HostLinkGBs("Tesla V100-DGXS-32GB"), 15.75);
  EXPECT_EQ(HostLinkGBs("NVIDIA A100-PG509-200"), 31.5);
  EXPECT_EQ(HostLinkGBs("NVIDIA A10G"), 31.5);
  EXPECT_EQ(HostLinkGBs("NVIDIA GH200 480GB"), 450);
  EXPECT_EQ(HostLinkGBs("AMD Instinct MI300X"), 63);
  EXPECT_FALSE(HostLinkGBs("").has_value());
  EXPECT_FALSE(HostLinkGBs("Quadro P400").has_value());
}

using test::TinyProfile;

// Five steps of 2 ms, each: `loader` us in the loader, then 20 launches of 60 us of host work and 10 us of kernel, then
// a kernel to the end of the step.
Profile Training(std::int64_t loader, std::int64_t steps = 5, std::int64_t length = 2000) {
  TinyProfile tiny;
  for (std::int64_t i = 0; i < steps; ++i) {
    std::int64_t at = length * i;
    tiny.Step(i, at, at + length).Loader(at, at + loader);
    at += loader;
    for (int k = 0; k < 20; ++k, at += 20) tiny.Kernel(at + 15, at + 20, at + 15);
    tiny.Kernel(at, length * (i + 1), at);
  }
  return tiny.Build();
}

std::vector<std::string> CausesOf(const std::vector<Finding>& findings) {
  std::vector<std::string> causes;
  for (const Finding& f : findings) causes.emplace_back(f.cause);
  return causes;
}
using Causes = std::vector<std::string>;

// The loader hides launches (15 % of the step, below 20 %): without it they are 21.4 % of what is left.
TEST(TraceDiagnosisTest, TheNextBottleneckIsWorkedOutAnew) {
  const Profile profile = Training(600);
  const TraceDiagnosis diagnosis = DiagnoseProfiles(std::span(&profile, 1));
  ASSERT_EQ(diagnosis.devices.size(), 1U);
  EXPECT_EQ(CausesOf(diagnosis.findings), (Causes{"loader_cpu_spare_cores", "unknown"}));
  const DeviceDiagnosis& d = diagnosis.devices[0];
  ASSERT_TRUE(d.next.has_value());
  EXPECT_EQ(d.next->removed, "loader_cpu_spare_cores");
  EXPECT_DOUBLE_EQ(d.next->removed_share, 0.3);
  EXPECT_EQ(d.next->cause, "launch_bound");
  EXPECT_DOUBLE_EQ(d.next->share, 1500.0 / 7000);
  EXPECT_DOUBLE_EQ(d.next->adds, 0.15);  // of the step as it was: both together save 45 %, not 30 + 21.4
  ASSERT_EQ(d.claims.size(), 1U);
  EXPECT_DOUBLE_EQ(d.claims[0].share, 0.3);
}

TEST(TraceDiagnosisTest, NothingIsNextWhereNothingCanBeRecovered) {
  TinyProfile tiny;
  tiny.Step(1, 0, 1000);
  for (std::int64_t at = 0; at < 1000; at += 100) tiny.Kernel(at, at + 100, at);
  const Profile profile = tiny.Build();
  const TraceDiagnosis diagnosis = DiagnoseProfiles(std::span(&profile, 1));
  EXPECT_EQ(CausesOf(diagnosis.findings), (Causes{"healthy"}));
  EXPECT_FALSE(diagnosis.devices[0].next.has_value());
}

TEST(TraceDiagnosisTest, TheHostConfirmsTheLoader) {
  const Profile profile = Training(600);
  HostEvidence host;
  host.worker_on_cpu = 0.95;
  host.cpus_free = 3;
  host.psi_cpu_some = 0.05;
  const TraceDiagnosis diagnosis = DiagnoseProfiles(std::span(&profile, 1), host);
  EXPECT_EQ(diagnosis.findings[0].cause, "loader_cpu_spare_cores");
  EXPECT_EQ(diagnosis.findings[0].status, Status::kConfirmed);
  const Profile short_one = Training(600, 3);
  EXPECT_EQ(DiagnoseProfiles(std::span(&short_one, 1), host).findings[0].status, Status::kLikely);
  Profile cut = Training(600);
  cut.events_missing = true;  // what is not there proves nothing
  EXPECT_EQ(DiagnoseProfiles(std::span(&cut, 1), host).findings[0].status, Status::kLikely);
}

TEST(TraceDiagnosisTest, FindingsOfSeveralDevicesWeighTheirWindows) {
  TinyProfile tiny;
  for (std::int64_t i = 0; i < 5; ++i) tiny.Step(i, 200 * i, 200 * (i + 1));
  tiny.Comm(0, 57, 0).Kernel(57, 1000, 50);
  tiny.OnDevice(1).Comm(0, 28, 0).Kernel(28, 1000, 20);  // 2.8 %: not material there
  const Profile profile = tiny.Build();
  const TraceDiagnosis diagnosis = DiagnoseProfiles(std::span(&profile, 1));
  ASSERT_EQ(diagnosis.devices.size(), 2U);
  EXPECT_EQ(CausesOf(diagnosis.devices[0].findings), (Causes{"comm_exposed"}));
  EXPECT_DOUBLE_EQ(diagnosis.devices[0].findings[0].share, 0.057);
  EXPECT_EQ(CausesOf(diagnosis.devices[1].findings), (Causes{"healthy"}));
  EXPECT_EQ(CausesOf(diagnosis.findings), (Causes{"comm_exposed", "healthy"})) << "a cause before what is well";
  EXPECT_DOUBLE_EQ(diagnosis.findings[0].share, 0.0285);
  EXPECT_DOUBLE_EQ(diagnosis.findings[0].bound, 0.0285);
  EXPECT_EQ(diagnosis.findings[0].evidence.back(), "seen on 1 of 2 devices; shares are of all their windows");
}

TEST(TraceDiagnosisTest, RanksOfOneJobAreReadTogether) {
  std::vector<Profile> ranks;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    TinyProfile tiny;
    for (std::int64_t i = 0; i < 5; ++i) {
      const std::int64_t late = rank == 1 ? 80 : 0;  // rank 1 computes longer, so rank 0 waits in the collective
      tiny.Step(i, 200 * i, 200 * (i + 1));
      tiny.Kernel(200 * i, 200 * i + 100 + late, 200 * i).Comm(200 * i + 100 + late, 200 * (i + 1), 200 * i + 50);
    }
    tiny.builder().header().rank = rank;
    tiny.builder().header().world_size = 2;
    ranks.push_back(tiny.Build());
  }
  const TraceDiagnosis together = DiagnoseProfiles(ranks);
  EXPECT_EQ(CausesOf(together.devices[0].findings), (Causes{"straggler_or_dependency", "comm_exposed"}));
  EXPECT_DOUBLE_EQ(together.devices[0].findings[0].share, 0.4);
  EXPECT_DOUBLE_EQ(together.devices[0].findings[0].bound, 0.4);
  EXPECT_EQ(together.devices[0].findings[0].status, Status::kConfirmed);
  EXPECT_EQ(CausesOf(together.devices[1].findings), (Causes{"comm_exposed"}));
  const TraceDiagnosis alone = DiagnoseProfiles(std::span(ranks.data(), 1));
  EXPECT_EQ(CausesOf(alone.findings), (Causes{"comm_exposed"}));
  EXPECT_DOUBLE_EQ(alone.findings[0].share, 0.5);
}

// Steps of 4 ms in all; then 900 us of every 1000 compute. The steps do not tell that the device idled for the job.
TEST(TraceDiagnosisTest, WorkOutsideTheStepsIsNoVerdictOnThem) {
  TinyProfile tiny;
  for (std::int64_t i = 0; i < 4; ++i) tiny.Step(i, 1000 * i, 1000 * (i + 1));
  for (std::int64_t i = 5; i < 10; ++i) tiny.Kernel(1000 * i, 1000 * i + 900, 1000 * i - 10);
  const Profile profile = tiny.Build();
  const TraceDiagnosis diagnosis = DiagnoseProfiles(std::span(&profile, 1));
  const DeviceDiagnosis& d = diagnosis.devices[0];
  EXPECT_EQ(d.Deciding().window, Window::kGpuSpan);
  EXPECT_EQ(d.budgets.front().window, Window::kProfilerSteps);
  EXPECT_EQ(d.OutsideStepsNs(), 4'500'000);
  EXPECT_EQ(d.steps.median_ns, 1'000'000);
  ASSERT_EQ(CausesOf(diagnosis.findings), (Causes{"unknown"}));
  EXPECT_EQ(diagnosis.findings[0].title, "The device's work lies outside the profiled steps");
  EXPECT_DOUBLE_EQ(diagnosis.findings[0].share, 400.0 / 4900);
  EXPECT_EQ(diagnosis.findings[0].bound, 0);
  EXPECT_NE(diagnosis.findings[0].evidence[0].find(
                "all 4.5 ms of its work lie after the last step ends; it does nothing in the 4 profiled steps (4 ms)"),
            std::string::npos)
      << diagnosis.findings[0].evidence[0];
  EXPECT_TRUE(d.claims.empty());
  EXPECT_FALSE(d.next.has_value());
  // A microsecond of work in the steps, and they decide.
  const Profile some = tiny.Step(1, 0, 1000).Kernel(500, 501, 490).Kernel(5000, 5900, 4990).Build();
  EXPECT_EQ(DiagnoseProfiles(std::span(&some, 1)).devices[0].Deciding().window, Window::kProfilerSteps);
}

// An export without its table of texts: what communicates is told by its name alone.
TEST(TraceDiagnosisTest, KernelsWithoutNamesAreNotCalledHealthy) {
  const auto nameless = [](std::int64_t us) {
    TinyProfile tiny;
    tiny.Kernel(0, us, 0, 5, "").Kernel(us, 1000, us);
    for (std::int64_t at = 1000; at < 10000; at += 1000) tiny.Kernel(at, at + 1000, at);
    const Profile profile = tiny.Build();
    return DiagnoseProfiles(std::span(&profile, 1)).findings;
  };
  const std::vector<Finding> found = nameless(300);
  ASSERT_EQ(CausesOf(found), (Causes{"unknown"}));
  EXPECT_NE(found[0].evidence.back().find("3.0 % of the kernels' time has no name in tiny.json"), std::string::npos);
  EXPECT_NE(found[0].isolate.find("kernels must have names"), std::string::npos);
  EXPECT_EQ(CausesOf(nameless(299)), (Causes{"healthy"}));
}

TEST(TraceDiagnosisTest, FilesThatAreNotJoinedSayWhy) {
  std::vector<Profile> twice;
  for (const char* file : {"a.json", "b.json"}) {
    TinyProfile tiny;
    tiny.Comm(0, 500, 0);
    for (std::int64_t at = 500; at < 1000; at += 50) tiny.Kernel(at, at + 50, at);
    tiny.builder().header().rank = 0;
    twice.push_back(tiny.Build());
    twice.back().file = file;
  }
  const TraceDiagnosis apart = DiagnoseProfiles(twice);
  EXPECT_EQ(apart.apart, "two files have rank 0: a.json and b.json");
  EXPECT_EQ(
      apart.findings[0].evidence[1],
      "the files are not joined as ranks of one job, because two files have rank 0: a.json and b.json: idleburn cannot "
      "tell transfer from waiting for a late rank; record every rank at the same time, each in its own file");
  twice[1].rank = 1;
  EXPECT_EQ(DiagnoseProfiles(twice).apart, "");
  const std::vector<Profile> silent = {twice[0], Training(600)};
  EXPECT_EQ(DiagnoseProfiles(silent).apart, "tiny.json does not give its rank");
  EXPECT_EQ(DiagnoseProfiles(std::span(twice.data(), 1)).apart, "");
}

TEST(TraceDiagnosisTest, ARankWithoutDevicesIsMentioned) {
  std::vector<Profile> profiles = {Training(600), TinyProfile().Op("aten::mm", 0, 10).Build()};
  const TraceDiagnosis diagnosis = DiagnoseProfiles(profiles);
  EXPECT_EQ(diagnosis.devices.size(), 1U);
  ASSERT_EQ(diagnosis.findings.size(), 3U);
  EXPECT_NE(diagnosis.findings[2].evidence[0].find("no GPU activity"), std::string::npos);
  EXPECT_TRUE(DiagnoseProfiles({}).findings.empty());
}

// --- claims
// -----------------------------------------------------------------------------------------------------------

Profile AnyTraining() {
  TinyProfile tiny;
  std::int64_t at = 0;
  const std::int64_t steps = *rc::gen::inRange<std::int64_t>(1, 7);
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t from = at;
    const int parts = *rc::gen::inRange(1, 8);
    for (int i = 0; i < parts; ++i) {
      const std::int64_t wait = *rc::gen::inRange<std::int64_t>(0, 120);
      const std::int64_t end = at + wait + *rc::gen::inRange<std::int64_t>(0, 100);
      const std::int64_t launched = std::max<std::int64_t>(0, at + wait - *rc::gen::inRange<std::int64_t>(0, 150));
      const int kind = *rc::gen::inRange(0, 9);
      if (kind == 0) tiny.Loader(at, at + wait);
      if (kind == 1) tiny.Call("cudaStreamSynchronize", at, at + wait);
      if (kind == 2) tiny.Op("aten::mm", at, at + wait);
      if (kind == 3) tiny.Comm(at + wait, end, launched);
      if (kind == 4) tiny.Copy(CopyKind::kHtoD, MemoryKind::kPageable, 64, at + wait, end, launched, wait);
      if (kind == 5) tiny.Orphan(at + wait, end);
      if (kind >= 6) tiny.Kernel(at + wait, end, launched);
      at = end;
    }
    at = std::max(at, from + 1);
    tiny.Step(step, from, at);
  }
  return tiny.Kernel(at, at + 1, at).Build();
}

void ClaimsAreDisjointAndNothingLargeIsSilent() {
  const Profile profile = AnyTraining();
  const DeviceTrace trace = test::TraceDevices(profile).back();
  const StepStatistics steps = MeasureSteps(trace.steps, trace.busy_by_step);
  const TraceVerdict verdict = FindTraceCauses({trace, steps});
  RC_ASSERT(!verdict.findings.empty());
  std::int64_t sum = 0;
  std::int64_t lost = 0;
  TimeSet all;
  for (const TraceClaim& claim : verdict.claims) {
    sum += claim.time.TotalNs();
    all = Union(all, claim.time);
  }
  RC_ASSERT(sum == all.TotalNs());
  double bounds = 0;
  for (const Finding& f : verdict.findings) {
    RC_ASSERT(f.share >= 0 && f.share <= 1 + 1e-12 && f.bound <= f.share + 1e-12);
    RC_ASSERT(!f.evidence.empty());
    if (f.cause != "healthy" && f.cause != "compute_bound") lost += f.gpu_ns;
    bounds += f.bound;
  }
  if (TooShort({trace, steps})) return;  // then nothing is said but that
  // What no finding mentions are at most ten shares below 3 %.
  const TraceBudget& b = trace.budget;
  RC_ASSERT(lost <= b.span.Ns() - b.compute_ns);
  RC_ASSERT(static_cast<double>(b.span.Ns() - b.compute_ns - lost) < 0.03 * 10 * static_cast<double>(b.span.Ns()) + 1);
  RC_ASSERT(bounds <= b.Share(b.span.Ns() - b.compute_ns) + 1e-9);
}

TEST(TraceDiagnosisTest, ClaimsAreDisjointAndNothingLargeIsSilent) {
  test::ExpectProperty("claims of any trace", ClaimsAreDisjointAndNothingLargeIsSilent);
}

// --- before and after
// -------------------------------------------------------------------------------------------------

DeviceDiagnosis Diagnosed(const Profile& profile) { return DiagnoseProfiles(std::span(&profile, 1)).devices.at(0); }

TEST(BeforeAfterTest, TheMedianStepShrinksWithinTheBound) {
  const BeforeAfter pair = CompareCaptures(Diagnosed(Training(600)), Diagnosed(Training(40, 5, 1440)));
  EXPECT_EQ(pair.cause, "loader_cpu_spare_cores");
  EXPECT_DOUBLE_EQ(pair.bound, 0.3);
  EXPECT_DOUBLE_EQ(pair.expected, 0.24);
  EXPECT_DOUBLE_EQ(*pair.realised, 0.28);
  EXPECT_DOUBLE_EQ(*pair.recovered, 0.28 / 0.3);
  EXPECT_NEAR(*pair.kernels_change, 0, 1e-12);
  EXPECT_NEAR(*pair.compute_change, 0, 1e-12);
  EXPECT_EQ(pair.next, "launch_bound");
  ASSERT_EQ(pair.doubts.size(), 2U);
  EXPECT_NE(pair.doubts[0].find("5 steps a side: below 20 the change"), std::string::npos);
}

TEST(BeforeAfterTest, OtherWorkIsNotComparable) {
  const BeforeAfter pair = CompareCaptures(Diagnosed(Training(600)), Diagnosed(Training(600, 5, 1900)));
  EXPECT_LT(*pair.compute_change, -0.05);
  EXPECT_NE(pair.doubts[1].find("compute time a step changed by -9.1 %"), std::string::npos);
}

TEST(BeforeAfterTest, LongerStepsAreNoSaving) {
  const BeforeAfter pair = CompareCaptures(Diagnosed(Training(600)), Diagnosed(Training(800, 5, 2200)));
  EXPECT_NEAR(*pair.realised, -0.1, 1e-12);
}

TEST(BeforeAfterTest, WithoutStepsNothingIsCompared) {
  const Profile bare = TinyProfile().Kernel(0, 100, 0).Build();
  const BeforeAfter pair = CompareCaptures(Diagnosed(Training(600)), Diagnosed(bare));
  EXPECT_FALSE(pair.realised.has_value());
  EXPECT_NE(pair.doubts[0].find("no steps"), std::string::npos);
}

using test::TinyProfile;

// 100 us of steps on two devices: the first computes 40, copies 10 in the open; the second only computes 100.
std::vector<Profile> TwoRanks() {
  TinyProfile first;
  first.Step(1, 0, 100).Kernel(20, 60, 10).Copy(CopyKind::kHtoD, MemoryKind::kPinned, 4096, 70, 80, 65);
  first.builder().header().rank = 0;
  TinyProfile second;
  second.Step(1, 0, 100).Kernel(0, 100, 0);
  second.builder().header().rank = 1;
  second.builder().header().wall_base_ns = 1'700'000'000'000'000'000;
  std::vector<Profile> profiles;
  profiles.push_back(first.Build());
  profiles.push_back(second.Build());
  return profiles;
}

TEST(TracedRunTest, EveryNanosecondOfTheDecidingWindowHasOnePhase) {
  const std::vector<Profile> profiles = TwoRanks();
  const TraceDiagnosis diagnosis = DiagnoseProfiles(profiles);
  DeviceTable devices;
  DataQuality quality;
  const RunResult run = TracedRun(profiles, diagnosis, devices, quality);
  ASSERT_EQ(run.devices.size(), 2U);
  constexpr std::int64_t kUs = TinyProfile::kUs;
  const DeviceTotals& first = run.devices[0].totals;
  EXPECT_EQ(first.phase_ns, (std::array<std::int64_t, kPhaseCount>{50 * kUs, 10 * kUs, 40 * kUs, 0}));
  EXPECT_EQ(first.idle_held_ns, 50 * kUs);
  EXPECT_EQ(first.utilization.ns, 100 * kUs);
  EXPECT_EQ(first.utilization.Mean(), 40.0 * kPercent);
  EXPECT_EQ(run.devices[1].totals.phase_ns[2], 100 * kUs);
  for (const DeviceResult& d : run.devices) EXPECT_EQ(d.WindowNs(), (d.last - d.first).count());
}

TEST(TracedRunTest, DevicesOfSeveralRanksStayApartAndHaveTheirCounter) {
  const std::vector<Profile> profiles = TwoRanks();
  DeviceTable devices;
  DataQuality quality;
  const RunResult run = TracedRun(profiles, DiagnoseProfiles(profiles), devices, quality);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].host, "rank 0");
  EXPECT_EQ(devices[1].host, "rank 1");
  EXPECT_EQ(devices[0].counter[Index(Signal::kUtilization)], "kineto.device_activity");
  // The first says no date: it begins at 0, which is counted; the second is on the wall clock.
  EXPECT_EQ(run.devices[0].first.nanos(), 0);
  EXPECT_EQ(run.devices[1].first.nanos(), 1'700'000'000'000'000'000);
  EXPECT_EQ(quality.CountOf(QualityId::kNoTimestamp), 1);
}

// Two captures of one rank are two devices: added into one, their findings would cost more than they have.
TEST(TracedRunTest, FilesThatClaimOneRankStayApart) {
  std::vector<Profile> profiles = TwoRanks();
  profiles[0].file = "morning.json";
  profiles[1].file = "noon.json";
  profiles[1].rank = 0;
  DeviceTable devices;
  DataQuality quality;
  const RunResult run = TracedRun(profiles, DiagnoseProfiles(profiles), devices, quality);
  ASSERT_EQ(run.devices.size(), 2U);
  EXPECT_EQ(devices[0].host, "morning.json");
  EXPECT_EQ(devices[1].host, "noon.json");
}

TEST(TracedRunTest, WithoutDeviceEventsThereIsNoDevice) {
  std::vector<Profile> profiles;
  profiles.push_back(TinyProfile().Step(1, 0, 100).Build());
  DeviceTable devices;
  DataQuality quality;
  EXPECT_TRUE(TracedRun(profiles, DiagnoseProfiles(profiles), devices, quality).devices.empty());
}

}  // namespace
}  // namespace idleburn
