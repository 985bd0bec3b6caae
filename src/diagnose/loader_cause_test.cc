#include "diagnose/loader_cause.h"

#include <gtest/gtest.h>

#include <string>

namespace idleburn {
namespace {

// What was measured on a machine with two cores, Linux 6.18, means over 4 s.
struct Load {
  const char* name;
  double cpu_some;
  double io_full;
  double on_cpu;
  double run_queue;
  double d_state;
  double cpus_free;
  double read_bytes;
  double read_chars;
  const char* cause;  // "" if the host explains nothing
};
constexpr Load kLoads[] = {
    {"sleepers", 0, 0, 0, 0, 0, 2, 0, 0, ""},
    {"one worker", .076, 0, .949, .05, 0, 1, 0, 0, "loader_cpu_spare_cores"},
    {"six workers on two cores", 1, 0, .283, .717, 0, 0, 0, 0, "loader_cpu_no_cores"},
    {"direct reads of 1 MiB", .021, .657, .031, .008, .956, 1.9, 3e8, 3e8, "storage"},
    {"direct reads of 4 KiB", .305, .479, .223, .151, .612, 1.5, 2e7, 2e7, "storage"},
    {"page-cache reads", 0, 0, 1, 0, 0, 1, 0, 15.7e9, "loader_cpu_spare_cores"},
};

HostEvidence HostOf(const Load& load) {
  HostEvidence host;
  host.worker_on_cpu = load.on_cpu;
  host.run_queue_wait = load.run_queue;
  host.d_state = load.d_state;
  host.psi_cpu_some = load.cpu_some;
  host.psi_io_full = load.io_full;
  host.cpus_free = load.cpus_free;
  host.read_bytes_rate = load.read_bytes;
  host.read_chars_rate = load.read_chars;
  host.cpu_throttled = 0;
  return host;
}

TEST(LoaderCauseTest, TellsTheMeasuredLoadsApart) {
  for (const Load& load : kLoads) {
    const LoaderVerdict verdict = JudgeLoader(HostOf(load));
    EXPECT_EQ(verdict.cause, load.cause) << load.name;
    EXPECT_EQ(verdict.excluded, std::string(load.cause).empty()) << load.name;
    EXPECT_FALSE(verdict.evidence.empty()) << load.name;
  }
}

HostEvidence Busy() { return HostOf(kLoads[1]); }

TEST(LoaderCauseTest, BordersFromBothSides) {
  const auto cause = [](auto change) {
    HostEvidence host = Busy();
    change(host);
    return std::string(JudgeLoader(host).cause);
  };
  EXPECT_EQ(cause([](HostEvidence& h) { h.worker_on_cpu = 0.9; }), "loader_cpu_spare_cores");
  EXPECT_EQ(cause([](HostEvidence& h) { h.worker_on_cpu = 0.899; }), "");
  EXPECT_EQ(cause([](HostEvidence& h) { h.psi_cpu_some = 0.199; }), "loader_cpu_spare_cores");
  EXPECT_EQ(cause([](HostEvidence& h) { h.psi_cpu_some = 0.2; }), "");
  EXPECT_EQ(cause([](HostEvidence& h) { h.cpus_free = 0.99; }), "");
  const auto crowded = [](double wait, double some) {
    HostEvidence host = HostOf(kLoads[2]);
    host.run_queue_wait = wait;
    host.psi_cpu_some = some;
    return std::string(JudgeLoader(host).cause);
  };
  EXPECT_EQ(crowded(0.3, 0), "loader_cpu_no_cores");
  EXPECT_EQ(crowded(0, 0.5), "loader_cpu_no_cores");
  EXPECT_EQ(crowded(0.299, 0.499), "");
  const auto blocked = [](double d, double full, double bytes) {
    HostEvidence host = HostOf(kLoads[3]);
    host.d_state = d;
    host.psi_io_full = full;
    host.read_bytes_rate = bytes;
    host.read_chars_rate = bytes;
    return std::string(JudgeLoader(host).cause);
  };
  EXPECT_EQ(blocked(0.3, 0.1, 1), "storage");
  EXPECT_EQ(blocked(0.299, 0.1, 1), "");
  EXPECT_EQ(blocked(0.3, 0.099, 1), "");
  EXPECT_EQ(blocked(0.3, 0.1, 0), "");
}

TEST(LoaderCauseTest, ARefuterBeatsAnySupporter) {
  HostEvidence crowded = HostOf(kLoads[2]);
  crowded.cpus_free = 4;  // run-queue wait beside idle cores: pinned threads, perhaps; not a want of cores
  EXPECT_NE(JudgeLoader(crowded).cause, "loader_cpu_no_cores");
  crowded.cpu_throttled = 0.2;  // unless a quota keeps the job from them
  EXPECT_EQ(JudgeLoader(crowded).cause, "loader_cpu_no_cores");
  HostEvidence cached = HostOf(kLoads[3]);
  cached.read_chars_rate = 100 * *cached.read_bytes_rate;
  EXPECT_NE(JudgeLoader(cached).cause, "storage");
}

TEST(LoaderCauseTest, WhatIsNotMeasuredDecidesNothing) {
  const LoaderVerdict none = JudgeLoader({});
  EXPECT_EQ(none.cause, "");
  EXPECT_FALSE(none.excluded);
  HostEvidence host = Busy();
  host.cpus_free.reset();
  EXPECT_EQ(JudgeLoader(host).cause, "");
  EXPECT_FALSE(JudgeLoader(host).excluded);
  host = Busy();
  host.psi_cpu_some.reset();
  const LoaderVerdict without_psi = JudgeLoader(host);
  EXPECT_EQ(without_psi.cause, "loader_cpu_spare_cores");
  ASSERT_EQ(without_psi.refuters.size(), 1U);
  EXPECT_NE(without_psi.refuters[0].find("PSI cpu.some (/proc/pressure/cpu) not available"), std::string::npos);
}

Finding TraceLoader() {
  Finding f;
  f.cause = "loader_cpu_spare_cores";
  f.status = Status::kLikely;
  f.share = 0.3;
  f.bound = 0.3;
  return f;
}

TEST(LoaderCauseTest, TwoSignalsThatAgreeConfirm) {
  Finding f = TraceLoader();
  JoinHostEvidence(Busy(), false, f);
  EXPECT_EQ(f.cause, "loader_cpu_spare_cores");
  EXPECT_EQ(f.status, Status::kConfirmed);
  EXPECT_EQ(f.bound, 0.3);

  Finding few = TraceLoader();
  JoinHostEvidence(Busy(), true, few);
  EXPECT_EQ(few.status, Status::kLikely);

  Finding disk = TraceLoader();
  JoinHostEvidence(HostOf(kLoads[3]), false, disk);
  EXPECT_EQ(disk.cause, "storage");
  EXPECT_EQ(disk.status, Status::kConfirmed);
  EXPECT_DOUBLE_EQ(disk.bound, 0.3 * 0.956);
}

TEST(LoaderCauseTest, AHostThatExplainsNothingTakesTheCauseBack) {
  Finding f = TraceLoader();
  JoinHostEvidence(HostOf(kLoads[0]), false, f);
  EXPECT_EQ(f.cause, "unknown");
  EXPECT_EQ(f.status, Status::kUnknown);
  EXPECT_EQ(f.bound, 0);
  EXPECT_EQ(f.share, 0.3);
}

TEST(LoaderCauseTest, OtherFindingsAndUndecidedOnesStay) {
  Finding launches;
  launches.cause = "launch_bound";
  JoinHostEvidence(Busy(), false, launches);
  EXPECT_EQ(launches.cause, "launch_bound");
  EXPECT_TRUE(launches.evidence.empty());
  Finding f = TraceLoader();
  JoinHostEvidence({}, false, f);
  EXPECT_EQ(f.cause, "loader_cpu_spare_cores");
  EXPECT_EQ(f.status, Status::kLikely);
}

}  // namespace
}  // namespace idleburn
