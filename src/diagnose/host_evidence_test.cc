#include "diagnose/host_evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/tiny_profile.h"

namespace idleburn {
namespace {

constexpr std::int64_t kMilli = 1'000'000;

// A host read once a second from second 0 on; what each second adds to a counter.
class Host {
 public:
  // The counters of a scope rise by this much until the next call.
  Host& Second(HostScope scope, const std::vector<std::pair<HostSignal, std::int64_t>>& rises) {
    const auto s = static_cast<std::size_t>(scope);
    if (seconds_[s] == 0) Put(scope, rises, false);
    ++seconds_[s];
    Put(scope, rises, true);
    return *this;
  }
  [[nodiscard]] const HostTimeline& timeline() const { return timeline_; }

 private:
  void Put(HostScope scope, const std::vector<std::pair<HostSignal, std::int64_t>>& rises, bool rise) {
    const auto s = static_cast<std::size_t>(scope);
    HostSample sample;
    sample.time = Instant::FromNanos(seconds_[s] * kNanosPerSecond);
    sample.scope = scope;
    for (const auto& [signal, amount] : rises) {
      std::int64_t& value = values_[s][Index(signal)];
      value = Info(signal).counter ? value + (rise ? amount : 0) : amount;
      sample.Set(signal, value);
    }
    timeline_.Add(sample);
  }
  std::array<std::int64_t, kHostScopeCount> seconds_{};
  std::array<std::array<std::int64_t, kHostSignalCount>, kHostScopeCount> values_{};
  HostTimeline timeline_;
};

ChosenTimes Seconds(const std::vector<double>& shares) {
  ChosenTimes chosen;
  for (std::size_t s = 0; s < shares.size(); ++s) {
    chosen.At(static_cast<std::int64_t>(s)).Merge({std::llround(shares[s] * 1e9), kNanosPerSecond});
  }
  return chosen;
}

TEST(HostMeans, CountOnlyTheChosenTime) {
  Host host;
  for (const std::int64_t io : {100, 900, 300}) {
    host.Second(HostScope::kMachine, {{HostSignal::kPsiIoFull, io * kMilli}});
  }
  EXPECT_NEAR(*MeansOver(host.timeline(), Seconds({0, 1, 0})).psi_io_full, 0.9, 1e-9);
  EXPECT_NEAR(*MeansOver(host.timeline(), Seconds({1, 0, 1})).psi_io_full, 0.2, 1e-9);
  EXPECT_NEAR(*MeansOver(host.timeline(), Seconds({0, 1, 0.5})).psi_io_full, (0.9 + 0.5 * 0.3) / 1.5, 1e-9);
}

TEST(HostMeans, OfTheWorkloadBeforeTheMachine) {
  Host host;
  host.Second(HostScope::kMachine, {{HostSignal::kPsiCpuSome, 800 * kMilli}, {HostSignal::kPsiIoSome, 50 * kMilli}});
  host.Second(HostScope::kWorkload, {{HostSignal::kPsiCpuSome, 100 * kMilli}});
  const HostEvidence e = MeansOver(host.timeline(), Seconds({1}));
  EXPECT_NEAR(*e.psi_cpu_some, 0.1, 1e-9);
  EXPECT_NEAR(*e.psi_io_some, 0.05, 1e-9);
  EXPECT_FALSE(e.psi_memory_full);
  EXPECT_FALSE(e.cpus_free);
  EXPECT_FALSE(e.worker_on_cpu);
}

TEST(HostMeans, AWorkersShareIsOfAllWorkersTime) {
  Host host;
  host.Second(HostScope::kWorkload, {{HostSignal::kWorkerTime, 4'000 * kMilli},
                                     {HostSignal::kWorkerCpuTime, 1'200 * kMilli},
                                     {HostSignal::kWorkerCpuWait, 2'000 * kMilli},
                                     {HostSignal::kWorkerBlockedTime, 400 * kMilli}});
  const HostEvidence e = MeansOver(host.timeline(), Seconds({1}));
  EXPECT_NEAR(*e.worker_on_cpu, 0.3, 1e-9);
  EXPECT_NEAR(*e.run_queue_wait, 0.5, 1e-9);
  EXPECT_NEAR(*e.d_state, 0.1, 1e-9);
}

// Without workers: one process that reads (blocked 60 % of the time), and a hundred threads that wait 0.6 % each.
TEST(HostMeans, WithoutWorkersTheJobItselfIsLookedAt) {
  Host reads;
  reads.Second(HostScope::kWorkload, {{HostSignal::kWorkerTime, 0},
                                      {HostSignal::kCpuTime, 300 * kMilli},
                                      {HostSignal::kCpuWait, 0},
                                      {HostSignal::kBlockedTime, 600 * kMilli}});
  const HostEvidence one = MeansOver(reads.timeline(), Seconds({1}));
  EXPECT_NEAR(*one.d_state, 0.6, 1e-9);
  EXPECT_FALSE(one.worker_on_cpu);
  Host many;
  many.Second(HostScope::kWorkload, {{HostSignal::kCpuTime, 30'000 * kMilli}, {HostSignal::kCpuWait, 600 * kMilli}});
  EXPECT_LT(*MeansOver(many.timeline(), Seconds({1})).run_queue_wait, 0.02);
}

TEST(HostMeans, FreeCpusAreThoseThatTheJobMayUse) {
  Host host;
  host.Second(HostScope::kMachine, {{HostSignal::kCpus, 16}, {HostSignal::kCpuTime, 5'000 * kMilli}});
  EXPECT_NEAR(*MeansOver(host.timeline(), Seconds({1})).cpus_free, 11, 1e-9);
  host.Second(HostScope::kWorkload, {{HostSignal::kCpus, 2}, {HostSignal::kCpuTime, 1'900 * kMilli}});
  EXPECT_NEAR(*MeansOver(host.timeline(), Seconds({1})).cpus_free, 0.1, 1e-9);
}

TEST(HostMeans, WhatWasReadOverLessThanHalfOfThatTimeIsAbsent) {
  Host host;
  for (int s = 0; s < 4; ++s) host.Second(HostScope::kMachine, {{HostSignal::kPsiIoFull, 500 * kMilli}});
  EXPECT_TRUE(MeansOver(host.timeline(), Seconds({1, 1, 1, 1, 1, 1, 1, 1})).psi_io_full);
  EXPECT_FALSE(MeansOver(host.timeline(), Seconds({1, 1, 1, 1, 1, 1, 1, 1, 1})).psi_io_full);
  EXPECT_FALSE(MeansOver(host.timeline(), Seconds({0, 0, 0, 0})).psi_io_full);
  EXPECT_FALSE(MeansOver({}, Seconds({1})).psi_io_full);
}

// Whichever of the two pictures is the coarser.
TEST(HostMeans, PicturesOfDifferentWidthMeet) {
  Host host;
  for (int s = 0; s < 3000; ++s) {
    host.Second(HostScope::kMachine, {{HostSignal::kPsiIoFull, (s < 1504 ? 100 : 700) * kMilli}});
  }
  ASSERT_GT(host.timeline().Of(HostScope::kMachine).bucket_seconds, 1);
  ChosenTimes chosen;
  for (std::int64_t s = 2000; s < 3000; ++s) chosen.At(s).Merge({kNanosPerSecond, kNanosPerSecond});
  EXPECT_NEAR(*MeansOver(host.timeline(), chosen).psi_io_full, 0.7, 1e-6);
  ChosenTimes all;
  for (std::int64_t s = 0; s < 3000; ++s) {
    all.At(s).Merge({s < 1504 ? kNanosPerSecond : 0, kNanosPerSecond});
  }
  EXPECT_NEAR(*MeansOver(host.timeline(), all).psi_io_full, 0.1, 1e-6);
}

// In second s all tasks wait for storage for a tenth of s.
HostTimeline TenSeconds(std::int64_t from) {
  HostTimeline timeline;
  std::int64_t stalled = 0;
  for (std::int64_t s = 0; s <= 10; ++s) {
    HostSample sample;
    sample.time = Instant::FromNanos((from + s) * kNanosPerSecond);
    sample.scope = HostScope::kWorkload;
    sample.Set(HostSignal::kPsiIoFull, stalled);
    timeline.Add(sample);
    stalled += s * kNanosPerSecond / 10;
  }
  return timeline;
}

// From 2.5 to 4 s after `base`.
Profile Capture(std::optional<std::int64_t> base) {
  test::TinyProfile tiny;
  tiny.Step(1, 2'500'000, 3'000'000).Kernel(2'600'000, 4'000'000, 2'550'000);
  tiny.builder().header().wall_base_ns = base;
  return tiny.Build();
}

TEST(HostDuringTest, TellsTheTimeOfTheCapture) {
  const std::vector<Profile> dated = {Capture(1'000 * kNanosPerSecond)};
  const std::optional<double> io = HostDuring(dated, TenSeconds(1'000)).psi_io_full;
  ASSERT_TRUE(io.has_value());
  EXPECT_NEAR(*io, (0.5 * 0.2 + 1 * 0.3) / 1.5, 1e-9);
}

TEST(HostDuringTest, ACaptureWithoutAClockIsOfTheWholeRun) {
  const std::vector<Profile> undated = {Capture(std::nullopt)};
  EXPECT_NEAR(HostDuring(undated, TenSeconds(1'000)).psi_io_full.value_or(-1), 0.45, 1e-9);
}

TEST(HostDuringTest, ACaptureFromAnotherTimeIsNotExplained) {
  for (const std::int64_t base : {50'000 * kNanosPerSecond, std::int64_t{0}}) {
    const std::vector<Profile> other = {Capture(base)};
    EXPECT_FALSE(HostDuring(other, TenSeconds(1'000)).psi_io_full.has_value()) << base;
  }
  const std::vector<Profile> dated = {Capture(0)};
  EXPECT_FALSE(HostDuring(dated, {}).psi_io_full.has_value());
}

// Stamps that are no times end neither in an endless search nor in another century.
TEST(HostDuringTest, SurvivesStampsThatAreNoTimes) {
  for (const std::int64_t base : {INT64_MAX, INT64_MIN, -kNanosPerSecond * 100}) {
    const std::vector<Profile> wild = {Capture(base)};
    EXPECT_TRUE(HostDuring(wild, TenSeconds(1'000)).psi_io_full.has_value());
  }
  test::TinyProfile wide;
  wide.Kernel(0, 10, 0).Kernel(1'000'000'000'000'000, 1'000'000'000'000'010, 0);
  wide.builder().header().wall_base_ns = 0;
  const std::vector<Profile> profiles = {wide.Build()};
  EXPECT_TRUE(HostDuring(profiles, TenSeconds(1'000)).psi_io_full.has_value());
}

std::string Named(const HostEvidence& e) {
  const std::vector<LoaderVerdict> verdicts = JudgeLoader(e);
  const LoaderVerdict* named = NamedBy(verdicts);
  return named == nullptr ? "" : std::string(named->cause);
}

// Loads measured on a host of two cores; the first four rows of what a worker did and the pressure are percent.
struct MeasuredRow {
  const char* load;
  double cpu_some, io_full, on_cpu, run_queue, state_d, free_cores, read_bytes, read_chars;
  const char* cause;
};
constexpr MeasuredRow kMeasured[] = {
    {"sleepers", 0, 0, 0, 0, 0, 2, 0, 0, ""},
    {"one worker", 7.6, 0, 94.9, 5.0, 0, 1.05, 0, 0, "loader_cpu_spare_cores"},
    {"six workers", 100, 0, 28.3, 71.7, 0, 0.02, 0, 0, "loader_cpu_no_cores"},
    {"two large O_DIRECT readers", 2.1, 65.7, 3.1, 0.8, 95.6, 1.9, 900e6, 900e6, "storage"},
    {"two small O_DIRECT readers", 30.5, 47.9, 22.3, 15.1, 61.2, 1.4, 60e6, 60e6, "storage"},
    {"page-cache readers", 0, 0, 100, 0, 0, 1, 0, 15.7e9, "loader_cpu_spare_cores"},
};

HostEvidence Evidence(const MeasuredRow& row) {
  HostEvidence e;
  e.psi_cpu_some = row.cpu_some / 100;
  e.psi_io_full = row.io_full / 100;
  e.worker_on_cpu = row.on_cpu / 100;
  e.run_queue_wait = row.run_queue / 100;
  e.d_state = row.state_d / 100;
  e.cpus_free = row.free_cores;
  e.read_bytes_rate = row.read_bytes;
  e.read_chars_rate = row.read_chars;
  return e;
}

TEST(LoaderRules, NameEveryMeasuredLoad) {
  for (const MeasuredRow& row : kMeasured) EXPECT_EQ(Named(Evidence(row)), row.cause) << row.load;
}

HostEvidence OneWorker() { return Evidence(kMeasured[1]); }
HostEvidence SixWorkers() { return Evidence(kMeasured[2]); }
HostEvidence DirectReaders() { return Evidence(kMeasured[3]); }

// A signal, moved across its threshold, takes the cause away or brings it.
struct EdgeRow {
  const char* what;
  HostEvidence (*base)();
  std::optional<double> HostEvidence::*signal;
  double with;
  double without;
  const char* cause;
};
constexpr EdgeRow kEdges[] = {
    {"on CPU", OneWorker, &HostEvidence::worker_on_cpu, 0.9, 0.899, "loader_cpu_spare_cores"},
    {"quiet CPUs", OneWorker, &HostEvidence::psi_cpu_some, 0.199, 0.2, "loader_cpu_spare_cores"},
    {"a free core", OneWorker, &HostEvidence::cpus_free, 0.5, 0.499, "loader_cpu_spare_cores"},
    {"no run queue", OneWorker, &HostEvidence::run_queue_wait, 0.299, 0.3, "loader_cpu_spare_cores"},
    {"not blocked", OneWorker, &HostEvidence::d_state, 0.299, 0.3, "loader_cpu_spare_cores"},
    {"not held back", OneWorker, &HostEvidence::cpu_throttled, 0.0099, 0.01, "loader_cpu_spare_cores"},
    {"queued at all", SixWorkers, &HostEvidence::run_queue_wait, 0.1, 0.099, "loader_cpu_no_cores"},
    {"no idle core", SixWorkers, &HostEvidence::cpus_free, 0.499, 0.5, "loader_cpu_no_cores"},
    {"blocked", DirectReaders, &HostEvidence::d_state, 0.3, 0.299, "storage"},
    {"stalled", DirectReaders, &HostEvidence::psi_io_full, 0.1, 0.099, "storage"},
    {"reads", DirectReaders, &HostEvidence::read_bytes_rate, 900e6, 0, "storage"},
    {"not cached", DirectReaders, &HostEvidence::read_chars_rate, 8.9e9, 9e9, "storage"},
};

TEST(LoaderRules, EveryThresholdDecidesOnBothSides) {
  for (const EdgeRow& row : kEdges) {
    HostEvidence e = row.base();
    e.*row.signal = row.with;
    EXPECT_EQ(Named(e), row.cause) << row.what;
    e.*row.signal = row.without;
    EXPECT_NE(Named(e), row.cause) << row.what;
  }
}

TEST(LoaderRules, EachOfThreeSignalsShowsAWantOfCores) {
  HostEvidence e;
  e.cpus_free = 0.1;
  EXPECT_EQ(Named(e), "");
  e.run_queue_wait = 0.3;
  EXPECT_EQ(Named(e), "loader_cpu_no_cores");
  e.run_queue_wait = 0.299;
  EXPECT_EQ(Named(e), "");
  e.psi_cpu_some = 0.5;
  EXPECT_EQ(Named(e), "loader_cpu_no_cores");
  e.psi_cpu_some = 0.499;
  EXPECT_EQ(Named(e), "");
  e.cpu_throttled = 0.01;
  EXPECT_EQ(Named(e), "loader_cpu_no_cores");
}

// A quota of two CPUs on a machine of sixty-four.
TEST(LoaderRules, CoresBeyondAQuotaAreNotIdleCores) {
  HostEvidence e;
  e.worker_on_cpu = 0.95;
  e.cpus_free = 60;
  e.psi_cpu_some = 0.05;
  EXPECT_EQ(Named(e), "loader_cpu_spare_cores");
  e.cpu_throttled = 0.4;
  EXPECT_EQ(Named(e), "loader_cpu_no_cores");
}

// Other programs fill the machine; this job's workers get their CPU.
TEST(LoaderRules, ThePressureOfOthersIsNotTheJobs) {
  HostEvidence e = OneWorker();
  e.psi_cpu_some = 0.95;
  e.cpus_free = 0.01;
  EXPECT_EQ(Named(e), "");
  e.run_queue_wait = std::nullopt;
  EXPECT_EQ(Named(e), "loader_cpu_no_cores");
}

TEST(LoaderRules, WhileOthersComputeNotAllTasksWaitForStorage) {
  HostEvidence e = DirectReaders();
  e.psi_io_full = 0.0;
  EXPECT_EQ(Named(e), "");
  e.cpus_free = 0.01;
  EXPECT_EQ(Named(e), "storage");
}

TEST(LoaderRules, WhatWasNotReadDecidesNothingAndIsListed) {
  EXPECT_EQ(Named({}), "");
  HostEvidence e;
  e.d_state = 0.9;  // no PSI, /proc/PID/io not readable
  const std::vector<LoaderVerdict> verdicts = JudgeLoader(e);
  const LoaderVerdict* named = NamedBy(verdicts);
  ASSERT_NE(named, nullptr);
  EXPECT_EQ(named->cause, "storage");
  EXPECT_EQ(named->not_read.size(), 3U);
  e.psi_io_full = 0.0;  // read, and against it
  EXPECT_EQ(Named(e), "");
}

TEST(LoaderRules, OfTwoThatHoldTheOneWithMoreOfAWorkersTimeIsNamed) {
  HostEvidence e = DirectReaders();
  e.psi_cpu_some = 0.6;  // somebody else's tasks
  e.cpus_free = 0.1;
  EXPECT_EQ(Named(e), "storage");
  e.run_queue_wait = 0.65;
  e.d_state = 0.3;
  EXPECT_EQ(Named(e), "loader_cpu_no_cores");
}

TEST(LoaderRules, SentencesNameCounterValueAndThreshold) {
  const std::vector<LoaderVerdict> verdicts = JudgeLoader(SixWorkers());
  const LoaderVerdict* named = NamedBy(verdicts);
  ASSERT_NE(named, nullptr);
  ASSERT_EQ(named->holds.size(), 2U);
  EXPECT_EQ(named->holds[0], "workers ready but waiting for a CPU (schedstat): 71.7 % (threshold 30.0 %)");
}

// A loader's wait as a trace alone names it.
Finding TraceLoader() {
  Finding f;
  f.cause = "loader_cpu_spare_cores";
  f.status = Status::kLikely;
  f.share = 0.3;
  f.bound = 0.3;
  return f;
}

Finding Joined(const HostEvidence& host, bool few_steps = false) {
  Finding f = TraceLoader();
  JoinHostEvidence(host, few_steps, f);
  return f;
}

// One busy worker beside idle CPUs.
HostEvidence Busy() {
  HostEvidence host;
  host.worker_on_cpu = 0.949;
  host.run_queue_wait = 0.05;
  host.d_state = 0;
  host.psi_cpu_some = 0.076;
  host.psi_io_full = 0;
  host.cpus_free = 1;
  host.cpu_throttled = 0;
  return host;
}

bool Says(const std::vector<std::string>& sentences, std::string_view part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& s) { return s.find(part) != std::string::npos; });
}

TEST(JoinHostEvidenceTest, TwoSignalsThatAgreeConfirm) {
  const Finding f = Joined(Busy());
  EXPECT_EQ(f.cause, "loader_cpu_spare_cores");
  EXPECT_EQ(f.status, Status::kConfirmed);
  EXPECT_EQ(f.bound, 0.3);
  EXPECT_TRUE(Says(f.evidence, "94.9 %"));
  EXPECT_EQ(Joined(Busy(), true).status, Status::kLikely);
}

TEST(JoinHostEvidenceTest, TheHostChoosesTheFix) {
  HostEvidence crowded = Busy();  // six workers on two CPUs
  crowded.worker_on_cpu = 0.283;
  crowded.run_queue_wait = 0.717;
  crowded.psi_cpu_some = 1;
  crowded.cpus_free = 0;
  const Finding cores = Joined(crowded);
  EXPECT_EQ(cores.cause, "loader_cpu_no_cores");
  EXPECT_EQ(cores.status, Status::kConfirmed);
  EXPECT_EQ(cores.bound, 0.3);

  HostEvidence blocked = Busy();  // direct reads
  blocked.worker_on_cpu = 0.031;
  blocked.d_state = 0.956;
  blocked.psi_io_full = 0.657;
  blocked.read_bytes_rate = 3e8;
  blocked.read_chars_rate = 3e8;
  const Finding disk = Joined(blocked);
  EXPECT_EQ(disk.cause, "storage");
  EXPECT_DOUBLE_EQ(disk.bound, 0.3 * 0.956);
}

TEST(JoinHostEvidenceTest, AHostThatExplainsNothingTakesTheCauseBack) {
  HostEvidence sleepers = Busy();
  sleepers.worker_on_cpu = 0;
  sleepers.run_queue_wait = 0;
  const Finding f = Joined(sleepers);
  EXPECT_EQ(f.cause, "unknown");
  EXPECT_EQ(f.status, Status::kUnknown);
  EXPECT_EQ(f.bound, 0);
  EXPECT_EQ(f.share, 0.3);
  EXPECT_TRUE(Says(f.evidence, "speaks against loader_cpu_spare_cores"));
}

TEST(JoinHostEvidenceTest, WhatIsNotMeasuredDecidesNothing) {
  const Finding alone = Joined({});
  EXPECT_EQ(alone.cause, "loader_cpu_spare_cores");
  EXPECT_EQ(alone.status, Status::kLikely);
  EXPECT_TRUE(alone.evidence.empty());
  HostEvidence without_psi = Busy();
  without_psi.psi_cpu_some.reset();
  const Finding f = Joined(without_psi);
  EXPECT_EQ(f.status, Status::kConfirmed);
  EXPECT_TRUE(Says(f.refutes, "not measured: time in which some task waits for a CPU"));
}

TEST(JoinHostEvidenceTest, OtherFindingsStay) {
  Finding launches;
  launches.cause = "launch_bound";
  JoinHostEvidence(Busy(), false, launches);
  EXPECT_EQ(launches.cause, "launch_bound");
  EXPECT_TRUE(launches.evidence.empty());
}

}  // namespace
}  // namespace idleburn
