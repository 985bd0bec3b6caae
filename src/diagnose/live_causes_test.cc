#include "diagnose/live_causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/findings.h"
#include "support/tiny_profile.h"

// Causes that need the host or several GPUs, on runs made by hand.
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
