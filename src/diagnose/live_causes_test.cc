// Causes that need the host or several GPUs, on runs made by hand.
#include "diagnose/live_causes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "diagnose/findings.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;
constexpr std::int64_t kStart = 1'000'000;

// What a GPU does in one second.
struct Now {
  int percent = 0;
  int watts = 600;
};
using Host = std::map<HostSignal, std::int64_t>;  // what a second adds to counters of the workload

class Lab {
 public:
  Lab() {
    rate_.kind = RateKind::kGiven;
    rate_.per_gpu_hour = Money::Parse("3600").value();
  }

  // GPUs idle at 100 W, limited at 700 W: below 190 W a busy one spins.
  void Gpu(std::int64_t seconds, const std::function<Now(std::int64_t)>& at) {
    DeviceKey key;
    key.index = static_cast<int>(run_.devices.size());
    key.name = "NVIDIA H100 80GB HBM3";
    DeviceResult d;
    d.device = devices_.Enter(key);
    d.counter = Signal::kUtilization;
    d.spin.evidence = SpinVerdict::Evidence::kPower;
    d.spin.idle_mw = 100'000;
    d.spin.limit_mw = 700'000;
    d.spin.below_watts = 190;
    for (std::int64_t s = 0; s < seconds; ++s) Add(d, s, at(s));
    run_.devices.push_back(std::move(d));
  }
  void Memory(std::size_t gpu, std::int64_t percent) {
    run_.devices[gpu].totals.memory_total = 100;
    run_.devices[gpu].totals.range[Slot(Signal::kMemoryUsed)].peak = percent;
  }
  // Of the first GPU: what its link can move, and what came over it on average.
  void Link(std::int64_t speed, std::int64_t moved) {
    machine_.link_speed = {speed};
    run_.devices[0].totals.pcie_rx.Add(run_.devices[0].totals.ObservedNs(), moved);
  }
  // The first GPU's clocks are held back, with loss, in these seconds.
  void Throttle(std::int64_t seconds) {
    DeviceResult& d = run_.devices[0];
    d.throttled_with_loss_ns = d.totals.throttled_ns = seconds * kSecond;
    for (std::int64_t s = 0; s < seconds; ++s) d.totals.timeline.At(kStart + s).throttled_ns = kSecond;
  }
  void Workload(std::int64_t seconds, const std::function<Host(std::int64_t)>& at) {
    HostSample sample;
    sample.scope = HostScope::kWorkload;
    std::map<HostSignal, std::int64_t> sums;
    for (std::int64_t s = 0; s <= seconds; ++s) {
      sample.time = Instant::FromNanos((kStart + s) * kSecond);
      for (const auto& [signal, amount] : at(std::max<std::int64_t>(s - 1, 0))) {
        sums[signal] = Info(signal).counter ? sums[signal] + (s == 0 ? 0 : amount) : amount;
        sample.Set(signal, sums[signal]);
      }
      host_.Add(sample);
    }
  }
  std::vector<Finding> Find() {
    run_.start = Instant::FromNanos(kStart * kSecond);
    cost_ = PriceRun(run_, devices_, OwnerLedger(), rate_, WorkDone(), EnergyPrice(), 720).value();
    machine_.host = host_.empty() ? nullptr : &host_;
    return FindCauses({run_, devices_, cost_, machine_});
  }

 private:
  static void Add(DeviceResult& d, std::int64_t s, Now now) {
    const std::size_t phase = now.percent < 10 ? 0 : now.percent < 70 ? 1 : now.percent < 90 ? 2 : 3;
    DeviceTotals& t = d.totals;
    Timeline::Bucket& bucket = t.timeline.At(kStart + s);
    t.phase_ns[phase] += kSecond;
    bucket.phase_ns[phase] += kSecond;
    t.utilization.Add(kSecond, now.percent * kPercent);
    bucket.utilization.Add(kSecond, now.percent * kPercent);
    bucket.power.Add(kSecond, now.watts * 1000);
    if (phase == 0) {
      t.idle_held_ns += kSecond;
      bucket.held_ns += kSecond;
    }
    if (phase == 3) bucket.busy_power.Add(kSecond, now.watts * 1000);
    if (phase == 3 && now.watts < 190) d.spin.time.Add(kSecond, now.percent * kPercent);
  }

  RunResult run_;
  DeviceTable devices_;
  Rate rate_;
  CostReport cost_;
  HostTimeline host_;
  MachineView machine_;
};

const Finding* Named(const std::vector<Finding>& findings, std::string_view cause) {
  for (const Finding& f : findings) {
    if (f.cause == cause) return &f;
  }
  return nullptr;
}

std::int64_t Sum(const std::vector<Finding>& findings) {
  std::int64_t sum = 0;
  for (const Finding& f : findings) sum += f.gpu_ns;
  return sum;
}

std::int64_t Share(double share) { return std::llround(share * static_cast<double>(kSecond)); }

Host Busy(double on_cpu, double wait, double blocked, double free = 1.2) {
  return {{HostSignal::kWorkerTime, Share(1)},
          {HostSignal::kWorkerCpuTime, Share(on_cpu)},
          {HostSignal::kWorkerCpuWait, Share(wait)},
          {HostSignal::kWorkerBlockedTime, Share(blocked)},
          {HostSignal::kPsiCpuSome, Share(wait)},
          {HostSignal::kPsiIoFull, Share(blocked)},
          {HostSignal::kReadBytes, Share(blocked) / 2},
          {HostSignal::kReadChars, Share(blocked) / 2},
          {HostSignal::kCpus, 2},
          {HostSignal::kCpuTime, Share(2 - free)}};
}

TEST(LiveCauses, ALoaderClaimsTheLowTimeAndNothingElseDoes) {
  Lab lab;
  lab.Gpu(100, [](std::int64_t s) { return Now{s < 20 ? 95 : 25}; });
  lab.Workload(100, [](std::int64_t) { return Busy(0.95, 0.05, 0); });
  const std::vector<Finding> findings = lab.Find();
  const Finding* f = Named(findings, "loader_cpu_spare_cores");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->status, Status::kLikely);
  EXPECT_EQ(f->gpu_ns, 80 * kSecond);
  EXPECT_NEAR(f->bound, 0.8 * 0.75, 1e-9);
  EXPECT_EQ(Named(findings, "unknown"), nullptr);
  EXPECT_LE(Sum(findings), 100 * kSecond);
}

TEST(LiveCauses, OnlyTheTimeInWhichGpusAreLowIsLookedAt) {
  Lab lab;
  lab.Gpu(100, [](std::int64_t s) { return Now{s % 2 == 0 ? 95 : 25}; });
  // The workers compute while the GPU is low and read while it works.
  lab.Workload(100, [](std::int64_t s) { return s % 2 == 0 ? Busy(0.1, 0, 0.9) : Busy(0.95, 0.05, 0); });
  EXPECT_NE(Named(lab.Find(), "loader_cpu_spare_cores"), nullptr);
}

TEST(LiveCauses, EachLoaderCauseComesOut) {
  struct Row {
    Host host;
    const char* cause;
  };
  const Row rows[] = {{Busy(0.95, 0.05, 0), "loader_cpu_spare_cores"},
                      {Busy(0.28, 0.72, 0, 0.02), "loader_cpu_no_cores"},
                      {Busy(0.05, 0, 0.9, 1.9), "storage"}};
  for (const Row& row : rows) {
    Lab lab;
    lab.Gpu(60, [](std::int64_t) { return Now{30}; });
    lab.Workload(60, [&](std::int64_t) { return row.host; });
    EXPECT_NE(Named(lab.Find(), row.cause), nullptr) << row.cause;
  }
}

TEST(LiveCauses, WhatTheHostExcludesIsSaid) {
  Lab lab;
  lab.Gpu(60, [](std::int64_t) { return Now{30}; });
  lab.Workload(60, [](std::int64_t) { return Busy(0.4, 0.05, 0.1); });
  const std::vector<Finding> findings = lab.Find();
  const Finding* f = Named(findings, "unknown");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->status, Status::kUnknown);
  EXPECT_EQ(f->bound, 0);
  std::string evidence;
  for (const std::string& e : f->evidence) evidence += e + "\n";
  EXPECT_NE(evidence.find("excludes loader_cpu_spare_cores: workers on CPU (schedstat, stat): 40.0 %"),
            std::string::npos)
      << evidence;
}

TEST(LiveCauses, WithoutAHostNothingIsSaidOfIt) {
  Lab lab;
  lab.Gpu(60, [](std::int64_t) { return Now{30}; });
  const std::vector<Finding> findings = lab.Find();
  ASSERT_EQ(findings.size(), 1U);
  for (const std::string& e : findings[0].evidence) EXPECT_EQ(e.find("host"), std::string::npos) << e;
}

TEST(LiveCauses, TheStartIsApart) {
  Lab lab;
  lab.Gpu(100, [](std::int64_t s) { return Now{s < 30 ? 0 : 40}; });
  lab.Workload(100, [](std::int64_t s) { return s < 30 ? Busy(0.1, 0, 0.9) : Busy(0.95, 0.05, 0); });
  const std::vector<Finding> findings = lab.Find();
  const Finding* loader = Named(findings, "loader_cpu_spare_cores");
  ASSERT_NE(loader, nullptr);
  EXPECT_EQ(loader->gpu_ns, 70 * kSecond);
  const Finding* start = Named(findings, "unknown");
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(start->gpu_ns, 30 * kSecond);
  EXPECT_NE(start->title.find("Start-up"), std::string::npos);
}

// A start of minutes is no GPU that somebody could have released.
TEST(LiveCauses, ALongStartIsNotIdleHeld) {
  Lab lab;
  lab.Gpu(300, [](std::int64_t s) { return Now{s < 120 ? 0 : 95}; });
  lab.Workload(300, [](std::int64_t) { return Busy(0.95, 0.05, 0); });
  const std::vector<Finding> findings = lab.Find();
  EXPECT_EQ(Named(findings, "idle_held"), nullptr);
  ASSERT_NE(Named(findings, "unknown"), nullptr);
  EXPECT_EQ(Named(findings, "unknown")->gpu_ns, 120 * kSecond);
}

// At 5 % the GPU is idle by its phase, for minutes; a job that works it so little starves it.
TEST(LiveCauses, AGpuThatIsStarvedBelowTenPercentIsNotHeldWithoutUse) {
  Lab lab;
  lab.Gpu(300, [](std::int64_t s) { return Now{s < 200 ? 5 : 0}; });
  lab.Workload(300, [](std::int64_t) { return Busy(0.28, 0.72, 0, 0.02); });
  const std::vector<Finding> findings = lab.Find();
  ASSERT_NE(Named(findings, "loader_cpu_no_cores"), nullptr);
  EXPECT_EQ(Named(findings, "loader_cpu_no_cores")->gpu_ns, 200 * kSecond);
  ASSERT_NE(Named(findings, "idle_held"), nullptr);
  EXPECT_EQ(Named(findings, "idle_held")->gpu_ns, 100 * kSecond);
}

TEST(LiveCauses, TimeThatThrottlingClaimsIsNotTheLoaders) {
  Lab lab;
  lab.Gpu(100, [](std::int64_t) { return Now{40}; });
  lab.Throttle(30);
  lab.Workload(100, [](std::int64_t) { return Busy(0.95, 0.05, 0); });
  const std::vector<Finding> findings = lab.Find();
  ASSERT_NE(Named(findings, "throttling"), nullptr);
  ASSERT_NE(Named(findings, "loader_cpu_spare_cores"), nullptr);
  EXPECT_EQ(Named(findings, "throttling")->gpu_ns, 30 * kSecond);
  EXPECT_EQ(Named(findings, "loader_cpu_spare_cores")->gpu_ns, 70 * kSecond);
  EXPECT_EQ(findings.size(), 2U);
}

// A GPU that the job does not use is not kept waiting by its loader.
TEST(LiveCauses, AnUnusedGpuBesideAStarvedOneIsNotTheLoaders) {
  Lab lab;
  lab.Gpu(50, [](std::int64_t) { return Now{30}; });
  lab.Gpu(50, [](std::int64_t) { return Now{0}; });
  lab.Workload(50, [](std::int64_t) { return Busy(0.95, 0.05, 0); });
  const std::vector<Finding> findings = lab.Find();
  ASSERT_NE(Named(findings, "loader_cpu_spare_cores"), nullptr);
  EXPECT_EQ(Named(findings, "loader_cpu_spare_cores")->gpu_ns, 50 * kSecond);
}

TEST(LiveCauses, MemoryPressureNeedsFullMemoryAndAStalledHost) {
  const auto found = [](std::int64_t percent, double full) {
    Lab lab;
    lab.Gpu(100, [](std::int64_t) { return Now{30}; });
    lab.Memory(0, percent);
    lab.Workload(100, [&](std::int64_t) { return Host{{HostSignal::kPsiMemoryFull, Share(full)}}; });
    const std::vector<Finding> findings = lab.Find();
    EXPECT_LE(Sum(findings), 100 * kSecond);
    const Finding* f = Named(findings, "memory_pressure");
    return f == nullptr ? -1 : f->gpu_ns / kSecond;
  };
  EXPECT_EQ(found(90, 0.2), 20);
  EXPECT_EQ(found(89, 0.2), -1);
  EXPECT_EQ(found(95, 0.029), -1);
  EXPECT_EQ(found(95, 0.031), 3);
}

TEST(LiveCauses, AFullLinkIsNamedBeforeTheLoader) {
  constexpr std::int64_t kGiga = 1'000'000'000;
  const auto found = [](std::int64_t low_seconds, std::int64_t moved) {
    Lab lab;
    lab.Gpu(100, [&](std::int64_t s) { return Now{s < low_seconds ? 30 : 95}; });
    lab.Link(50 * kGiga, moved);
    lab.Workload(100, [](std::int64_t) { return Busy(0.95, 0.05, 0); });
    const std::vector<Finding> findings = lab.Find();
    EXPECT_LE(Sum(findings), 100 * kSecond);
    const bool link = Named(findings, "h2d_bandwidth") != nullptr;
    EXPECT_EQ(Named(findings, "loader_cpu_spare_cores") == nullptr, link);
    return link;
  };
  EXPECT_TRUE(found(100, 30 * kGiga));
  EXPECT_FALSE(found(100, 29 * kGiga));
  // With half the time at work, the link may have been full then: 0.5 x 50 + 0.5 x 30 GB/s are needed.
  EXPECT_TRUE(found(50, 40 * kGiga));
  EXPECT_FALSE(found(50, 39 * kGiga));
  EXPECT_FALSE(found(19, 49 * kGiga));  // in less than 20 % of the time
}

// --- one GPU that others wait for --------------------------------------------------------------------------------

constexpr std::int64_t kMegabyte = 1'000'000;

// Two GPUs; in the first ten seconds of `period`, the first is low and the second spins.
void TwoRanks(Lab& lab, std::int64_t seconds, const std::function<bool(std::int64_t)>& stalls) {
  lab.Gpu(seconds, [&](std::int64_t s) { return stalls(s) ? Now{5, 120} : Now{95, 600}; });
  lab.Gpu(seconds, [&](std::int64_t s) { return stalls(s) ? Now{100, 130} : Now{95, 600}; });
}
bool EveryMinute(std::int64_t s) { return s % 60 >= 30 && s % 60 < 40; }

TEST(PeerStall, StallsInWhichTheJobWritesAreCheckpoints) {
  Lab lab;
  TwoRanks(lab, 300, EveryMinute);
  lab.Workload(300, [](std::int64_t s) {
    return Host{{HostSignal::kWriteBytes, (EveryMinute(s) ? 50 : 0) * kMegabyte}};
  });
  const std::vector<Finding> findings = lab.Find();
  const Finding* f = Named(findings, "checkpoint_stall");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->status, Status::kConfirmed);
  EXPECT_EQ(f->gpu_ns, 2 * 5 * 10 * kSecond);  // of both GPUs
  EXPECT_EQ(Named(findings, "spin_wait"), nullptr);
  EXPECT_EQ(Named(findings, "straggler_or_dependency"), nullptr);
  EXPECT_LE(Sum(findings), 600 * kSecond);
}

TEST(PeerStall, TwoStallsAreNotYetCheckpoints) {
  for (const std::int64_t seconds : {120, 180}) {
    Lab lab;
    TwoRanks(lab, seconds, EveryMinute);
    lab.Workload(seconds, [](std::int64_t s) {
      return Host{{HostSignal::kWriteBytes, (EveryMinute(s) ? 50 : 0) * kMegabyte}};
    });
    EXPECT_EQ(Named(lab.Find(), "checkpoint_stall") != nullptr, seconds == 180) << seconds;
  }
}

TEST(PeerStall, WritesMustRiseInTheEpisodes) {
  for (const std::int64_t beside : {0, 24, 26}) {
    Lab lab;
    TwoRanks(lab, 300, EveryMinute);
    lab.Workload(300, [&](std::int64_t s) {
      return Host{{HostSignal::kWriteBytes, (EveryMinute(s) ? 50 : beside) * kMegabyte}};
    });
    EXPECT_EQ(Named(lab.Find(), "checkpoint_stall") != nullptr, beside <= 25) << beside;
  }
}

TEST(PeerStall, WithoutWritesTheLowGpuIsAStraggler) {
  Lab lab;
  TwoRanks(lab, 300, EveryMinute);
  lab.Workload(300, [](std::int64_t) { return Host{{HostSignal::kWriteBytes, 1000}}; });
  const std::vector<Finding> findings = lab.Find();
  const Finding* f = Named(findings, "straggler_or_dependency");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->gpu_ns, 2 * 5 * 10 * kSecond);
  EXPECT_NE(f->evidence[1].find("GPU 0"), std::string::npos) << f->evidence[1];
}

// Who is low changes: nobody lags, they wait for one another in turns.
TEST(PeerStall, AnotherGpuEachTimeIsNoStraggler) {
  Lab lab;
  for (const int rank : {0, 1}) {
    lab.Gpu(300, [&](std::int64_t s) {
      if (!EveryMinute(s)) return Now{95, 600};
      return s / 60 % 2 == rank ? Now{5, 120} : Now{100, 130};
    });
  }
  lab.Workload(300, [](std::int64_t) { return Host{{HostSignal::kWriteBytes, 1000}}; });
  const std::vector<Finding> findings = lab.Find();
  EXPECT_EQ(Named(findings, "straggler_or_dependency"), nullptr);
  EXPECT_NE(Named(findings, "spin_wait"), nullptr);
}

TEST(PeerStall, RegularStallsAreLikelyCheckpointsWhereWritesWereNotRead) {
  Lab regular;
  TwoRanks(regular, 300, EveryMinute);
  const std::vector<Finding> findings = regular.Find();
  const Finding* f = Named(findings, "checkpoint_stall");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->status, Status::kLikely);
  Lab irregular;
  TwoRanks(irregular, 400, [](std::int64_t s) {
    return (s >= 20 && s < 30) || (s >= 60 && s < 70) || (s >= 200 && s < 210) || (s >= 230 && s < 240);
  });
  const std::vector<Finding> others = irregular.Find();
  EXPECT_EQ(Named(others, "checkpoint_stall"), nullptr);
  EXPECT_NE(Named(others, "spin_wait"), nullptr);
}

TEST(PeerStall, ASpreadBelowFiftyPointsAndRanksThatAllSpinAreNoStall) {
  Lab close;
  close.Gpu(300, [](std::int64_t s) { return EveryMinute(s) ? Now{51, 300} : Now{95, 600}; });
  close.Gpu(300, [](std::int64_t s) { return EveryMinute(s) ? Now{100, 130} : Now{95, 600}; });
  EXPECT_EQ(Named(close.Find(), "checkpoint_stall"), nullptr);
  Lab together;
  for (int i = 0; i < 2; ++i) {
    together.Gpu(300, [](std::int64_t s) { return EveryMinute(s) ? Now{100, 130} : Now{95, 600}; });
  }
  const std::vector<Finding> findings = together.Find();
  EXPECT_EQ(Named(findings, "checkpoint_stall"), nullptr);
  EXPECT_NE(Named(findings, "spin_wait"), nullptr);
}

// Writes while the others work on: overlapped, nothing to fix.
TEST(PeerStall, WritesAtFullPowerAreNoStall) {
  Lab lab;
  lab.Gpu(300, [](std::int64_t s) { return EveryMinute(s) ? Now{5, 120} : Now{95, 600}; });
  lab.Gpu(300, [](std::int64_t) { return Now{95, 600}; });
  lab.Workload(300, [](std::int64_t s) {
    return Host{{HostSignal::kWriteBytes, (EveryMinute(s) ? 50 : 0) * kMegabyte}};
  });
  EXPECT_EQ(Named(lab.Find(), "checkpoint_stall"), nullptr);
}

// --- all GPUs of a job stand still while it writes ------------------------------------------------------------------

// `gpus` that work but for the seconds of `stalls`, and a job that writes so much in them and beside them.
std::vector<Finding> Stalling(int gpus, std::int64_t seconds, const std::function<bool(std::int64_t)>& stalls,
                              std::int64_t inside, std::int64_t beside) {
  Lab lab;
  for (int i = 0; i < gpus; ++i) {
    lab.Gpu(seconds, [&](std::int64_t s) { return stalls(s) ? Now{0, 120} : Now{95, 600}; });
  }
  lab.Workload(seconds, [&](std::int64_t s) { return Host{{HostSignal::kWriteBytes, stalls(s) ? inside : beside}}; });
  const std::vector<Finding> findings = lab.Find();
  EXPECT_LE(Sum(findings), gpus * seconds * kSecond);
  return findings;
}

TEST(WriteStall, GpusThatStandStillWhileTheJobWritesAreStoppedByCheckpoints) {
  for (const int gpus : {1, 2}) {
    const std::vector<Finding> findings = Stalling(gpus, 300, EveryMinute, 50 * kMegabyte, 0);
    const Finding* f = Named(findings, "checkpoint_stall");
    ASSERT_NE(f, nullptr) << gpus;
    EXPECT_EQ(f->status, Status::kLikely);
    EXPECT_EQ(f->gpu_ns, gpus * 5 * 10 * kSecond);
    EXPECT_NEAR(f->bound, 50.0 / 300, 1e-9);
    EXPECT_EQ(Named(findings, "unknown"), nullptr);
  }
}

TEST(WriteStall, WhatDoesNotRecurOrDoesNotWriteIsNone) {
  const auto named = [](const std::vector<Finding>& findings) {
    return Named(findings, "checkpoint_stall") != nullptr;
  };
  EXPECT_FALSE(named(Stalling(1, 130, EveryMinute, 50 * kMegabyte, 0)));  // two of them
  EXPECT_FALSE(named(Stalling(1, 300, EveryMinute, 1000, 0)));            // a log is written
  EXPECT_FALSE(named(Stalling(1, 300, EveryMinute, 50 * kMegabyte, 26 * kMegabyte)));
  EXPECT_TRUE(named(Stalling(1, 300, EveryMinute, 50 * kMegabyte, 24 * kMegabyte)));
  EXPECT_FALSE(named(Stalling(
      1, 300, [](std::int64_t) { return true; }, 50 * kMegabyte, 0)));
}

// Unpacking data before the first kernel, and a save after the last, are no stalls of the training.
TEST(WriteStall, StartAndEndAreNoEpisodes) {
  const auto stalls = [](std::int64_t s) { return s < 20 || (s >= 60 && s < 70) || (s >= 100 && s < 110) || s >= 160; };
  EXPECT_EQ(Named(Stalling(1, 180, stalls, 50 * kMegabyte, 0), "checkpoint_stall"), nullptr);
}

// A GPU at half its work for want of data does not stand still.
TEST(WriteStall, AGpuThatIsOnlySlowerIsLeftToOtherCauses) {
  Lab lab;
  lab.Gpu(300, [&](std::int64_t s) { return EveryMinute(s) ? Now{51, 300} : Now{95, 600}; });
  lab.Workload(300, [&](std::int64_t s) {
    return Host{{HostSignal::kWriteBytes, (EveryMinute(s) ? 50 : 0) * kMegabyte}};
  });
  EXPECT_EQ(Named(lab.Find(), "checkpoint_stall"), nullptr);
}

}  // namespace
}  // namespace idleburn
