#include "diagnose/loader_rules.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

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

}  // namespace
}  // namespace idleburn
