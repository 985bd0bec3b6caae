#include "diagnose/join_host_evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace idleburn {
namespace {

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
  EXPECT_TRUE(Says(f.refutes, "not measured: some task waits for a CPU"));
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
