#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "price/cost_report.h"
#include "recommend/advice.h"
#include "support/advice_on.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;

// What a GPU does for a while.
struct Spell {
  std::int64_t seconds = 0;
  std::int64_t utilization = 0;         // percent
  std::int64_t held = 1;                // 1 a process holds memory, 0 none, -1 not read
  std::int64_t watts = -1;              // -1: not read
  std::optional<std::int64_t> sm = {};  // SM activity, percent
};

Phase PhaseOf(std::int64_t percent) {
  return percent < 10   ? Phase::kIdle
         : percent < 70 ? Phase::kUnderutilized
         : percent < 90 ? Phase::kProductive
                        : Phase::kComputeBound;
}

// A run built by hand, second by second, as the classifier would leave it.
class Lab {
 public:
  explicit Lab(std::string_view rate = "4") {
    rate_.kind = RateKind::kGiven;
    rate_.per_gpu_hour = Money::Parse(rate).value();
  }

  DeviceResult& Gpu(const std::vector<Spell>& spells, std::string name = "NVIDIA H100 80GB HBM3") {
    DeviceKey key;
    key.index = static_cast<int>(run_.devices.size());
    key.name = std::move(name);
    return Add(std::move(key), spells);
  }

  // A GPU, or a MIG instance of one, as a source tells it.
  DeviceResult& Add(DeviceKey key, const std::vector<Spell>& spells) {
    if (key.host.empty()) key.host = "node";
    DeviceResult d;
    d.device = devices_.Enter(key);
    devices_.NameCounter(d.device, Signal::kUtilization, "nvidia_smi.utilization.gpu");
    d.counter = Signal::kUtilization;
    std::int64_t second = 1'000'000;
    for (const Spell& s : spells) {
      for (std::int64_t i = 0; i < s.seconds; ++i) Live(d, s, second++);
    }
    std::erase_if(d.totals.zero_runs, [](const ZeroRun& run) { return run.ns < 900 * kSecond; });
    run_.devices.push_back(std::move(d));
    return run_.devices.back();
  }

  // Every second at or above 90 % is spin-wait by power; P_idle and P_limit in watts.
  void SpinByPower(DeviceResult& d, std::int64_t idle, std::int64_t limit) {
    d.spin.evidence = SpinVerdict::Evidence::kPower;
    d.spin.time = Busy(d);
    d.spin.idle_mw = idle * 1000;
    d.spin.limit_mw = limit * 1000;
    d.spin.below_watts = idle + (limit - idle) * 15 / 100;
    devices_.NameCounter(d.device, Signal::kPower, "nvidia_smi.power.draw");
    for (const Timeline::Bucket& b : d.totals.timeline.buckets) {
      if (b.busy_power.ns > 0) {
        d.totals.spin_by_power.bins.resize(1024);
        d.totals.spin_by_power.bins[static_cast<std::size_t>(*b.busy_power.Mean() / 1000)].Add(b.busy_power.ns,
                                                                                               100 * kPercent);
      }
    }
  }
  void SpinByActivity(DeviceResult& d) {
    d.spin.evidence = SpinVerdict::Evidence::kActivity;
    d.spin.time = Busy(d);
    devices_.NameCounter(d.device, Signal::kSmActive, "dcgm.DCGM_FI_PROF_SM_ACTIVE");
  }
  void Throttle(DeviceResult& d, std::int64_t seconds, int bit, bool with_loss) {
    d.totals.throttled_ns = seconds * kSecond;
    d.totals.reason_ns[static_cast<std::size_t>(bit)] = seconds * kSecond;
    d.throttled_with_loss_ns = with_loss ? seconds * kSecond : 0;
    devices_.NameCounter(d.device, Signal::kEventReasons, "nvidia_smi.clocks_event_reasons.active");
    devices_.NameCounter(d.device, Signal::kSmClock, "nvidia_smi.clocks.current.sm");
  }

  Advice Advise(const RecoveredShares& shares = {}) {
    run_.start = Instant::FromNanos(1'000'000 * kSecond);
    RateCard card(rate_);
    for (const auto& [device, rate] : others_) card.Give(device, rate);
    cost_ = PriceRun(run_, devices_, OwnerLedger(), card, WorkDone(), EnergyPrice(), 720).value();
    return testing::AdviceOn({run_, devices_, cost_, {}, trace ? &*trace : nullptr}, shares);
  }
  std::optional<TraceDiagnosis> trace;  // of a part of the run
  [[nodiscard]] const CostReport& cost() const { return cost_; }
  Rate& rate() { return rate_; }
  // Of a device whose rate is not that of the others.
  Rate& RateOf(const DeviceResult& d) { return others_[d.device]; }

 private:
  static Integral Busy(const DeviceResult& d) {
    Integral time;
    for (const Timeline::Bucket& b : d.totals.timeline.buckets) {
      if (b.phase_ns[3] > 0) time.Merge(b.utilization);
    }
    return time;
  }

  void Live(DeviceResult& d, const Spell& s, std::int64_t second) {
    const auto phase = static_cast<std::size_t>(PhaseOf(s.utilization));
    DeviceTotals& t = d.totals;
    Timeline::Bucket& bucket = t.timeline.At(second);
    t.phase_ns[phase] += kSecond;
    bucket.phase_ns[phase] += kSecond;
    t.utilization.Add(kSecond, s.utilization * kPercent);
    bucket.utilization.Add(kSecond, s.utilization * kPercent);
    if (s.utilization == 0) {
      std::vector<ZeroRun>& runs = t.zero_runs;
      if (runs.empty() || runs.back().to() != second * kSecond) runs.push_back({second * kSecond, 0});
      runs.back().ns += kSecond;
    }
    if (phase == 0) {
      (s.held > 0 ? t.idle_held_ns : s.held == 0 ? t.idle_empty_ns : t.idle_unknown_ns) += kSecond;
      bucket.held_ns += s.held > 0 ? kSecond : 0;
      if (s.held >= 0) devices_.NameCounter(d.device, Signal::kMemoryUsed, "nvidia_smi.memory.used");
    }
    if (s.watts >= 0) {
      bucket.power.Add(kSecond, s.watts * 1000);
      if (phase == 3) bucket.busy_power.Add(kSecond, s.watts * 1000);
    }
    if (s.sm) {
      bucket.sm_active.Add(kSecond, *s.sm * kPercent);
      t.sm_active.Add(kSecond, *s.sm * kPercent);
    }
  }

  RunResult run_;
  DeviceTable devices_;
  Rate rate_;
  std::map<DeviceId, Rate> others_;
  CostReport cost_;
};

const Finding* Find(const Advice& advice, std::string_view cause) {
  const auto at =
      std::find_if(advice.findings.begin(), advice.findings.end(), [&](const Finding& f) { return f.cause == cause; });
  return at == advice.findings.end() ? nullptr : &*at;
}

const Recommendation* Advised(const Advice& advice, std::string_view id) {
  const auto at = std::find_if(advice.recommendations.begin(), advice.recommendations.end(),
                               [&](const Recommendation& r) { return r.id == id; });
  return at == advice.recommendations.end() ? nullptr : &*at;
}

std::string Declined(const Advice& advice, std::string_view id) {
  const auto at = std::find_if(advice.declined.begin(), advice.declined.end(),
                               [&](const Advice::Declined& d) { return d.id == id; });
  return at == advice.declined.end() ? "" : at->why;
}

void ExpectEvidence(const Finding& finding, const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& e : finding.evidence) all += e + "\n";
  for (const std::string& w : words) EXPECT_NE(all.find(w), std::string::npos) << "lacks '" << w << "' in:\n" << all;
}

// Every lever is either advised or declined with a reason, never both.
void ExpectEveryLeverDecided(const Advice& advice) {
  std::size_t advised = 0;
  for (const Recommendation& r : advice.recommendations) {
    advised += Declined(advice, r.id).empty() ? 1U : 0U;
    EXPECT_TRUE(Declined(advice, r.id).empty()) << r.id;
    EXPECT_TRUE(r.saving || !r.basis.empty()) << r.id;
  }
  for (const Advice::Declined& d : advice.declined) EXPECT_FALSE(d.why.empty()) << d.id;
  EXPECT_EQ(advised + advice.declined.size(), 47U);
}

// --- idle ----------------------------------------------------------------------------------------------------

TEST(AdviseTest, NamesAGpuThatIsHeldWithoutUse) {
  Lab lab;
  lab.Gpu({{900, 95}, {2700, 0, 1}});
  const Advice advice = lab.Advise();
  ExpectEveryLeverDecided(advice);
  ASSERT_EQ(advice.findings.size(), 1U);
  const Finding& f = advice.findings[0];
  EXPECT_EQ(f.cause, "idle_held");
  EXPECT_EQ(f.status, Status::kConfirmed);
  EXPECT_NEAR(f.share, 0.75, 1e-9);
  EXPECT_EQ(f.gpu_ns, 2700 * kSecond);
  EXPECT_EQ(FormatMoney(*f.cost, 2), "3.00");
  ExpectEvidence(f, {"nvidia_smi.utilization.gpu below 10 %", "60 s", "2700 GPU-s", "threshold: 3 % of observed time",
                     "nvidia_smi.memory.used", "GPU 0"});
  const Recommendation* stop = Advised(advice, "stop_idle");
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->saving->low, 0);
  EXPECT_NEAR(stop->saving->expected, 0.8 * 2400 / 3600, 1e-9);  // of 45 minutes, 5 pass before somebody stops it
  EXPECT_NEAR(stop->saving->high, 2400.0 / 3600, 1e-9);
  EXPECT_EQ(FormatMoney(*stop->saving_cost, 2), "2.13");
  EXPECT_EQ(stop->how.find("jupyter"), std::string::npos) << "no notebook was seen";
  EXPECT_NE(stop->basis.find("Cash only if the GPU is released"), std::string::npos);
  EXPECT_NE(Advised(advice, "autoscale"), nullptr);  // it works and rests
  EXPECT_FALSE(Advised(advice, "autoscale")->saving);
  EXPECT_NE(Declined(advice, "bin_packing").find("one GPU"), std::string::npos);
  EXPECT_EQ(Declined(advice, "mig"), "needs: small jobs that hold a whole GPU");
}

// Forty minutes of an hour bound the saving; what is expected of it, and how far it spreads, is what one's own
// changes of that very lever gave.
TEST(AdviseTest, OnesOwnChangesMoveWhatAFixIsExpectedToRecover) {
  Lab lab;
  lab.Gpu({{900, 95}, {2700, 0, 1}});
  const auto own = [](const char* lever) {
    std::map<std::string, OwnChanges, std::less<>> changes;
    changes[lever] = {{0.2, 0.3, 0.1, 0.2}, 4};
    return RecoveredShares(std::move(changes));
  };
  const Advice prior = lab.Advise();
  const Advice learnt = lab.Advise(own("stop_idle"));
  const double mean = (4 + 0.8) / 9;
  EXPECT_NEAR(Advised(learnt, "stop_idle")->saving->expected, mean * 2 / 3, 1e-9);
  EXPECT_NEAR(Advised(learnt, "stop_idle")->saving->high, 2.0 / 3, 1e-9);
  EXPECT_NE(
      Advised(learnt, "stop_idle")->basis.find("0.53 of the bound, from 4 of your own verified changes (prior 0.80)"),
      std::string::npos);
  EXPECT_NEAR(learnt.savings.total_fraction, mean * 2 / 3, 1e-9);
  // Beta(a,1) with that mean has its 95 % point at 0.95^(1/a), a = mean / (1 - mean).
  EXPECT_NEAR(learnt.savings.high, 2.0 / 3 * std::pow(0.95, (1 - mean) / mean), 0.01);
  const Advice others = lab.Advise(own("num_workers"));
  EXPECT_EQ(others.savings.total_fraction, prior.savings.total_fraction);
  EXPECT_EQ(others.savings.high, prior.savings.high);
}

TEST(AdviseTest, NamesAGpuWithNothingOnIt) {
  Lab lab;
  lab.Gpu({{3600, 95}});
  lab.Gpu({{3600, 0, 0}});
  const Advice advice = lab.Advise();
  const Finding* f = Find(advice, "idle_empty");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->share, 0.5, 1e-9);
  EXPECT_EQ(f->status, Status::kLikely) << "memory tells that nothing is there, a list of processes would show it";
  EXPECT_NEAR(Advised(advice, "stop_idle")->saving->high, 3300.0 / 7200, 1e-9) << "the GPU that works is no peer";
  ExpectEvidence(*f, {"nvidia_smi.utilization.gpu", "GPU 1", "nvidia_smi.memory.used is below 100 MiB"});
  EXPECT_NE(Advised(advice, "bin_packing"), nullptr);
  EXPECT_NE(Declined(advice, "autoscale").find("no load to follow"), std::string::npos);
  EXPECT_EQ(Find(advice, "idle_held"), nullptr);
}

TEST(AdviseTest, AFewPercentAreSomebodysUse) {
  Lab lab;
  lab.Gpu({{3600, 8, 1}});
  const Advice advice = lab.Advise();
  ASSERT_EQ(advice.findings[0].cause, "idle_held");
  EXPECT_EQ(advice.findings[0].title, "GPUs are held but hardly used");
  EXPECT_EQ(Advised(advice, "stop_idle"), nullptr);
  EXPECT_NE(Declined(advice, "stop_idle").find("no run of 15 minutes or longer at 0 %"), std::string::npos);
  EXPECT_NEAR(advice.savings.cap, 0.92, 1e-9);
  EXPECT_EQ(advice.savings.total_fraction, 0);
}

// Seven ranks rest while the eighth works: one job, unevenly used. Stopping it would stop the work.
TEST(AdviseTest, NoGpuIsStoppedWhosePeersWork) {
  Lab lab;
  for (int i = 0; i < 7; ++i) lab.Gpu({{600, 95}, {3000, 0, 1}});
  lab.Gpu({{600, 95}, {3000, 40, 1}});
  const Advice advice = lab.Advise();
  ASSERT_NE(Find(advice, "idle_held"), nullptr);
  ExpectEvidence(*Find(advice, "idle_held"), {"other GPUs of the same job work while"});
  EXPECT_EQ(Advised(advice, "stop_idle"), nullptr);
  EXPECT_EQ(Advised(advice, "autoscale"), nullptr);
  EXPECT_NE(Declined(advice, "stop_idle").find("other GPUs of the same job work"), std::string::npos);
  Lab all;  // the eighth rests too, but for its last ten minutes
  for (int i = 0; i < 7; ++i) all.Gpu({{600, 95}, {3000, 0, 1}});
  all.Gpu({{600, 95}, {2400, 0, 1}, {600, 40, 1}});
  const Advice stopped = all.Advise();
  EXPECT_NEAR(Advised(stopped, "stop_idle")->saving->high, 2100.0 / 3600, 1e-9) << "of all eight, while all rest";
}

TEST(AdviseTest, AGpuThatRestsThroughoutAJobIsSaidToBeTooMany) {
  Lab lab;
  lab.Gpu({{3600, 95, 1}});
  lab.Gpu({{3600, 0, 1}});
  ExpectEvidence(*Find(lab.Advise(), "idle_held"), {"more than 90 % of the time of GPU 1", "fewer GPUs"});
}

TEST(AdviseTest, ShortPausesAreNotAnIdleGpu) {
  Lab lab;
  std::vector<Spell> spells;
  for (int i = 0; i < 20; ++i) spells.insert(spells.end(), {{30, 95}, {50, 0, 1}});
  lab.Gpu(spells);
  const Advice advice = lab.Advise();
  ASSERT_EQ(advice.findings.size(), 1U);
  EXPECT_EQ(advice.findings[0].cause, "unknown");
  EXPECT_NEAR(advice.findings[0].share, 50.0 / 80, 1e-9);
  EXPECT_NE(advice.findings[0].isolate.find("torch.profiler"), std::string::npos);
  EXPECT_EQ(advice.savings.total_fraction, 0);
  for (const Recommendation& r : advice.recommendations) EXPECT_EQ(r.axis, Axis::kRate) << r.id;
}

TEST(AdviseTest, ThresholdOfIdleIsThreePercent) {
  Lab below;
  below.Gpu({{3500, 95}, {100, 0, 1}});
  EXPECT_EQ(Find(below.Advise(), "idle_held"), nullptr);
  Lab above;
  above.Gpu({{3500, 95}, {120, 0, 1}});
  EXPECT_NE(Find(above.Advise(), "idle_held"), nullptr);
}

TEST(AdviseTest, UnreadMemoryIsNeitherHeldNorEmpty) {
  Lab worked;
  worked.Gpu({{600, 95}, {600, 0, -1}});
  const Advice held = worked.Advise();
  ASSERT_NE(Find(held, "idle"), nullptr);
  EXPECT_EQ(Find(held, "idle")->status, Status::kLikely);
  ExpectEvidence(*Find(held, "idle"), {"neither a process list nor memory.used"});
  Lab never;
  never.Gpu({{1000, 0, -1}});
  const Advice unread = never.Advise();
  ASSERT_NE(Find(unread, "idle"), nullptr);
  EXPECT_EQ(Find(unread, "idle_empty"), nullptr);
  EXPECT_NEAR(Advised(unread, "stop_idle")->saving->high, 0.7, 1e-9) << "whoever holds it, nobody used it";
}

TEST(AdviseTest, SaysWhenTheTimelineIsTooCoarse) {
  Lab lab;
  std::vector<Spell> spells;
  for (int i = 0; i < 900; ++i) spells.insert(spells.end(), {{64, 95}, {64, 0, 1}});  // 32 h: buckets of 128 s
  lab.Gpu(spells);
  const Advice advice = lab.Advise();
  EXPECT_EQ(Find(advice, "idle_held"), nullptr);
  ASSERT_NE(Find(advice, "unknown"), nullptr);
  ExpectEvidence(*Find(advice, "unknown"), {"too long to place"});
}

TEST(AdviseTest, SeesStretchesThroughCoarseBuckets) {
  Lab lab;
  lab.Gpu({{70'000, 95}, {10'000, 0, 1}, {35'200, 95}});
  const Advice advice = lab.Advise();
  ASSERT_NE(Find(advice, "idle_held"), nullptr);
  EXPECT_EQ(Find(advice, "idle_held")->gpu_ns, 10'000 * kSecond);
}

// --- spin-wait -----------------------------------------------------------------------------------------------

TEST(AdviseTest, CallsLowPowerAtFullUseAWaitButOnlyLikely) {
  Lab lab;
  DeviceResult& gpu = lab.Gpu({{900, 100, 1, 171}, {100, 50, 1, 300}});
  lab.SpinByPower(gpu, 110, 700);
  const Advice advice = lab.Advise();
  ExpectEveryLeverDecided(advice);
  const Finding& f = advice.findings[0];
  EXPECT_EQ(f.cause, "spin_wait");
  EXPECT_EQ(f.status, Status::kLikely);
  EXPECT_NEAR(f.share, 0.9, 1e-9);
  // A bin holds [171, 172) W: (172 - 110) / (700 - 110) = 10.5 %.
  ExpectEvidence(f, {"nvidia_smi.utilization.gpu >= 90 %", "nvidia_smi.power.draw is at most 10.5 %", "threshold 15 %",
                     "110 W", "700 W"});
  EXPECT_NEAR(advice.savings.cap, 1 - 0.1 * 0.5, 1e-9);  // waste it is, whoever could end it
  EXPECT_EQ(advice.savings.time_fraction, 0);
  EXPECT_NE(Declined(advice, "fix_straggler").find("without peers"), std::string::npos);
  EXPECT_NE(Declined(advice, "async_checkpoint").find("needs: periodic stalls"), std::string::npos);
  for (const std::string_view id : {"mixed_precision", "fp8", "larger_gpu"}) {
    EXPECT_EQ(Advised(advice, id), nullptr) << id;
    EXPECT_NE(Declined(advice, id).find("wait"), std::string::npos) << id;
  }
}

TEST(AdviseTest, NamesTheGpuThatTheOthersWaitFor) {
  Lab lab;
  for (int i = 0; i < 3; ++i) {
    DeviceResult& gpu = lab.Gpu({{600, 100, 1, 150}, {400, 95, 1, 600}});
    lab.SpinByPower(gpu, 110, 700);
    gpu.spin.time = {600 * kSecond, static_cast<Int128>(600 * kSecond) * 100 * kPercent};
  }
  lab.Gpu({{540, 20, 1, 200}, {60, 40, 1, 200}, {400, 95, 1, 600}});  // the late one
  lab.Gpu({{1000, 0, 0, 60}});                                        // nobody's: not part of the job
  const Advice advice = lab.Advise();
  const Finding* f = Find(advice, "spin_wait");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->status, Status::kConfirmed);
  ExpectEvidence(*f, {"GPU 3 is below 30 %", "in 90 % of that time", "GPU 0, GPU 1, GPU 2"});
  EXPECT_NEAR(Advised(advice, "fix_straggler")->saving->high, 1800.0 / 5000, 1e-9);
}

TEST(AdviseTest, AnUnusedGpuIsNoPeer) {
  Lab lab;
  DeviceResult& gpu = lab.Gpu({{600, 100, 1, 150}});
  lab.SpinByPower(gpu, 110, 700);
  lab.Gpu({{600, 0, 0, 60}});
  const Advice advice = lab.Advise();
  EXPECT_EQ(Find(advice, "spin_wait")->status, Status::kLikely);
}

TEST(AdviseTest, ACollectiveThatSpinsIsNoComputeBoundJob) {
  Lab lab("2.49");
  for (int i = 0; i < 4; ++i) lab.SpinByActivity(lab.Gpu({{900, 100, 1, 170, 5}}));
  const Advice advice = lab.Advise();
  ASSERT_EQ(advice.findings.size(), 1U);
  const Finding& f = advice.findings[0];
  EXPECT_EQ(f.cause, "spin_wait");
  EXPECT_EQ(f.status, Status::kConfirmed);
  EXPECT_EQ(FormatMoney(*f.cost, 2), "2.49");
  ExpectEvidence(f, {"dcgm.DCGM_FI_PROF_SM_ACTIVE averaged 5.0 %", "threshold 25 %"});
  EXPECT_EQ(Advised(advice, "mixed_precision"), nullptr);
  EXPECT_EQ(Advised(advice, "fp8"), nullptr);
  // All wait: whom to speed up is not in this data, and so neither is what that would save.
  ASSERT_NE(Advised(advice, "fix_straggler"), nullptr);
  EXPECT_FALSE(Advised(advice, "fix_straggler")->saving);
  EXPECT_EQ(Advised(advice, "fix_straggler")->basis,
            "no GPU of this run lags while these wait, so this data does not show how to end the wait");
  EXPECT_EQ(advice.savings.time_fraction, 0);
  EXPECT_NEAR(advice.savings.cap, 1, 1e-9);
}

// --- throttling ----------------------------------------------------------------------------------------------

TEST(AdviseTest, ThrottlingCostsClockNotWaste) {
  Lab lab;
  DeviceResult& gpu = lab.Gpu({{1000, 100}});
  lab.Throttle(gpu, 400, 6, true);
  gpu.max_sm_khz = 2'000'000;
  gpu.totals.throttled_clock.Add(400 * kSecond, 1'500'000);
  const Advice advice = lab.Advise();
  const Finding* f = Find(advice, "throttling");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->share, 0.4, 1e-9);
  ExpectEvidence(*f, {"nvidia_smi.clocks_event_reasons.active", "hw_thermal_slowdown 400 s",
                      "nvidia_smi.clocks.current.sm is 25.0 % below"});
  EXPECT_NEAR(Advised(advice, "power_cap_or_cooling")->saving->high, 0.1, 1e-9);  // .4 x .25
  EXPECT_NEAR(*advice.savings.cheaper_fraction, 0.08, 1e-9);
  EXPECT_NEAR(advice.savings.total_fraction, 0.08, 1e-9);  // although the waste, and so its cap, is 0
  EXPECT_NEAR(advice.savings.cap, 0, 1e-9);
}

// The fix that is written there is NVIDIA's: what no advised lever gives back is in no sum.
TEST(AdviseTest, WhatNoLeverGivesBackIsNotAddedUp) {
  Lab lab;
  DeviceResult& gpu = lab.Gpu({{1000, 100}}, "AMD Instinct MI300X");
  lab.Throttle(gpu, 400, 6, true);
  gpu.max_sm_khz = 2'000'000;
  gpu.totals.throttled_clock.Add(400 * kSecond, 1'500'000);
  const Advice advice = lab.Advise();
  EXPECT_NE(Find(advice, "throttling"), nullptr);
  EXPECT_EQ(Advised(advice, "power_cap_or_cooling"), nullptr);
  EXPECT_EQ(advice.savings.time_fraction, 0);
  EXPECT_FALSE(IsQuantified(advice));
  ExpectEveryLeverDecided(advice);
}

TEST(AdviseTest, ReportsAPowerCapWithoutBlame) {
  Lab lab;
  DeviceResult& gpu = lab.Gpu({{1000, 100, 1, 650}});
  gpu.spin.limit_mw = 700'000;
  lab.Throttle(gpu, 900, 2, false);
  const Advice advice = lab.Advise();
  EXPECT_EQ(Find(advice, "throttling"), nullptr);
  ASSERT_EQ(advice.findings[0].cause, "healthy");
  ExpectEvidence(advice.findings[0], {"sw_power_cap 900 s", "counts no loss for it", "maximum was not read"});
}

// --- bursts, busy, nothing -----------------------------------------------------------------------------------

TEST(AdviseTest, BurstsAreOneStarvedJob) {
  Lab lab;
  DeviceResult& gpu = lab.Gpu({{600, 50}});
  gpu.totals.burst.ns = 600 * kSecond;
  gpu.totals.ticks = {1200, 1200, 0, 1200};
  gpu.tick_window = Nanos(kSecond / 6);
  const Advice advice = lab.Advise();
  ExpectEveryLeverDecided(advice);
  ASSERT_EQ(advice.findings.size(), 1U);
  const Finding& f = advice.findings[0];
  EXPECT_EQ(f.cause, "unknown");
  EXPECT_EQ(f.status, Status::kUnknown);
  EXPECT_NEAR(f.share, 1, 1e-9);
  ExpectEvidence(f, {"nvidia_smi.utilization.gpu", "0.44", "threshold 0.3", "167 ms"});
  EXPECT_NE(f.isolate.find("torch.profiler for 20 steps on every rank"), std::string::npos);
  EXPECT_NE(f.isolate.find("DCGM_FI_PROF_SM_ACTIVE"), std::string::npos);
  for (const std::string_view id : {"mig", "mps", "mixed_precision"}) {
    EXPECT_EQ(Advised(advice, id), nullptr) << id;
    EXPECT_NE(Declined(advice, id).find("starved in bursts"), std::string::npos) << id;
  }
  EXPECT_EQ(advice.savings.total_fraction, 0);
  EXPECT_EQ(advice.savings.high, 0);
}

TEST(AdviseTest, UtilizationAloneCannotTellAndAdvisesNoPrecision) {
  Lab lab;
  lab.Gpu({{600, 97}});
  const Advice advice = lab.Advise();
  ASSERT_EQ(advice.findings.size(), 1U);
  EXPECT_EQ(advice.findings[0].cause, "unknown");
  EXPECT_NE(advice.findings[0].isolate.find("power.draw,enforced.power.limit"), std::string::npos);
  ExpectEvidence(advice.findings[0],
                 {"nvidia_smi.utilization.gpu averages 97.0 %", "power was not read", "SM activity was not read"});
  for (const std::string_view id : {"mixed_precision", "fp8", "larger_gpu"}) {
    EXPECT_EQ(Advised(advice, id), nullptr) << id;
    EXPECT_NE(Declined(advice, id).find("nvidia_smi.utilization.gpu alone"), std::string::npos) << id;
  }
}

TEST(AdviseTest, SmActivityMakesItComputeBound) {
  Lab lab;
  DeviceResult& gpu = lab.Gpu({{600, 99, 1, 650, 92}});
  gpu.totals.tensor_active.Add(600 * kSecond, 1 * kPercent);
  const Advice low = lab.Advise();
  ASSERT_EQ(low.findings[0].cause, "compute_bound");
  EXPECT_EQ(low.findings[0].status, Status::kConfirmed);
  ExpectEvidence(low.findings[0], {"92.0 %", "threshold 80 %", "1.0 %"});
  ASSERT_NE(Advised(low, "mixed_precision"), nullptr);
  EXPECT_FALSE(Advised(low, "mixed_precision")->saving);
  EXPECT_EQ(Advised(low, "fp8"), nullptr);
  ExpectEveryLeverDecided(low);
}

TEST(AdviseTest, BusyTensorCoresLeaveOnlyFp8WhereItExists) {
  for (const bool hopper : {true, false}) {
    Lab lab;
    DeviceResult& gpu = lab.Gpu({{600, 99, 1, 650, 92}}, hopper ? "NVIDIA H100 80GB HBM3" : "NVIDIA A100-SXM4-80GB");
    gpu.totals.tensor_active.Add(600 * kSecond, 55 * kPercent);
    const Advice advice = lab.Advise();
    EXPECT_EQ(Advised(advice, "mixed_precision"), nullptr);
    EXPECT_EQ(Advised(advice, "fp8") != nullptr, hopper);
  }
}

TEST(AdviseTest, LowSmActivityIsNotComputeBound) {
  Lab lab;
  lab.Gpu({{600, 99, 1, 400, 45}});
  EXPECT_EQ(Find(lab.Advise(), "compute_bound"), nullptr);
}

TEST(AdviseTest, ASteadyEightyPercentIsUnexplained) {
  Lab lab;
  lab.Gpu({{600, 80}});
  const Advice advice = lab.Advise();
  ASSERT_EQ(advice.findings.size(), 1U);
  EXPECT_EQ(advice.findings[0].cause, "unknown");
  EXPECT_NEAR(advice.findings[0].share, 0.2, 1e-6);
}

TEST(AdviseTest, UnderusedTimeIsUnknownWithTheNextMeasurement) {
  Lab lab;
  lab.Gpu({{600, 45}, {600, 95}});
  const Advice advice = lab.Advise();
  const Finding* f = Find(advice, "unknown");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->share, 0.5, 1e-9);
  ExpectEvidence(*f, {"nvidia_smi.utilization.gpu from 10 to 70 %", "600 GPU-s of that time"});
  EXPECT_EQ(f->bound, 0);
}

TEST(AdviseTest, NothingObservedIsUnknown) {
  Lab lab;
  DeviceResult& gpu = lab.Gpu({});
  gpu.totals.unobserved_ns[0] = 600 * kSecond;
  const Advice advice = lab.Advise();
  ASSERT_EQ(advice.findings.size(), 1U);
  EXPECT_EQ(advice.findings[0].cause, "unknown");
  ExpectEvidence(advice.findings[0], {"no valid reading"});
  EXPECT_EQ(advice.savings.total_fraction, 0);
}

// --- together ------------------------------------------------------------------------------------------------

TEST(AdviseTest, AddsDisjointPoolsUnderTheCap) {
  Lab lab;
  lab.Gpu({{1000, 0, 1}});  // the others wait for it
  lab.Gpu({{1000, 0, 0}});  // nobody's
  DeviceResult& spin = lab.Gpu({{400, 100, 1, 150}, {600, 95, 1, 600}});
  lab.SpinByPower(spin, 110, 700);
  spin.spin.time = {400 * kSecond, static_cast<Int128>(400 * kSecond) * 100 * kPercent};
  const Advice advice = lab.Advise();
  EXPECT_EQ(advice.savings.rule, "pools");
  EXPECT_NEAR(advice.savings.cap, lab.cost().waste_share, 1e-12);
  EXPECT_NEAR(*advice.savings.waste_fraction, 0.8 * (700 + 400) / 3000, 1e-9);
  EXPECT_NEAR(advice.savings.naive_sum, 0.8 * (700 + 400) / 3000, 1e-9);  // substitutes carry no saving of their own
  EXPECT_EQ(advice.savings.low, 0);
  EXPECT_GE(advice.savings.high, advice.savings.total_fraction);
  EXPECT_LE(advice.savings.high, advice.savings.cap);
  EXPECT_EQ(FormatMoney(*advice.savings.cost, 2), "0.98");  // .2933 of 3 x 1000 s at $4
}

// Catalogue offers for what costs 4 an hour.
void Offer(Lab& lab, std::string_view spot, std::string_view elsewhere) {
  lab.rate().kind = RateKind::kCatalogue;
  lab.rate().key = "acme:one:on_demand@eu-1";
  lab.rate().candidates = {{"acme:one:spot@eu-1", Money::Parse(spot).value()},
                           {"acme:one:on_demand@us-1", Money::Parse(elsewhere).value()}};
}

// The 95 % point of 1 - (1 - a x)(1 - b y) with x, y of Beta(4,1), by its distribution function on a grid.
double High(double a, double b) {
  constexpr int kSteps = 1000;
  std::vector<double> totals;
  for (int i = 0; i < kSteps; ++i) {
    const double x = std::pow((i + 0.5) / kSteps, 0.25);
    for (int j = 0; j < kSteps; ++j) {
      totals.push_back(1 - (1 - a * x) * (1 - b * std::pow((j + 0.5) / kSteps, 0.25)));
    }
  }
  const auto at = totals.begin() + static_cast<std::ptrdiff_t>(totals.size() * 95 / 100);
  std::nth_element(totals.begin(), at, totals.end());
  return *at;
}

// To stop .625, of it .8 recovered: .5 of the time; spot at a quarter of the price, .8 of that: .6 of what remains.
TEST(AdviseTest, ACheaperHourMultipliesWhatTimeLeaves) {
  Lab lab;
  lab.Gpu({{1550, 0, 1}, {450, 100}});
  Offer(lab, "1", "2");
  const CombinedSaving s = lab.Advise().savings;
  EXPECT_NEAR(s.time_fraction, 0.5, 1e-9);
  EXPECT_NEAR(s.rate_fraction, 0.6, 1e-9);  // of the two offers the better one: an hour has one price
  EXPECT_EQ(s.rate_lever, "spot");
  EXPECT_NEAR(s.total_fraction, 0.8, 1e-9);
  EXPECT_NEAR(s.naive_sum, 0.5 + 0.6 + 0.4, 1e-9);
  EXPECT_EQ(s.low, 0);
  EXPECT_NEAR(s.high, High(0.625, 0.75), 0.005);
  EXPECT_EQ(FormatMoney(*s.cost, 2), "1.78");  // of 2000 s at 4 an hour: 2.222
  EXPECT_EQ(FormatMoney(*s.time_cost, 2), "1.11");
}

TEST(AdviseTest, OffersAreTakenOffTheWholeBill) {
  Lab lab;
  DeviceResult& gpu = lab.Gpu({{1300, 0, 1}});  // of which a half of the bill can be stopped
  gpu.totals.unobserved_ns[0] = 700 * kSecond;
  Offer(lab, "3", "1");
  const CombinedSaving s = lab.Advise().savings;
  EXPECT_EQ(s.rate_lever, "right_size_region");
  EXPECT_NEAR(s.time_fraction, 0.4, 1e-9);
  EXPECT_NEAR(s.total_fraction, 1 - 0.6 * 0.4, 1e-9);
  EXPECT_NEAR(s.high, High(0.5, 0.75), 0.005);
}

TEST(AdviseTest, WithoutAnythingOnTimeTheOfferIsAllAndUncertain) {
  Lab lab;
  lab.Gpu({{1000, 100}});
  Offer(lab, "1", "4");
  const CombinedSaving s = lab.Advise().savings;
  EXPECT_EQ(s.time_fraction, 0);
  EXPECT_NEAR(s.total_fraction, 0.6, 1e-9);
  EXPECT_EQ(s.low, 0);
  EXPECT_NEAR(s.high, High(0, 0.75), 0.005);
}

// What a second of trace shows is weighed by its share of the run, whatever the GPUs cost.
TEST(AdviseTest, ATracedCauseSavesItsPartOfTheRunAtSeveralPrices) {
  Lab lab;
  lab.Gpu({{3600, 97}});
  lab.RateOf(lab.Gpu({{3600, 97}})).per_gpu_hour = Money::Parse("12").value();
  Finding sync;
  sync.cause = "synchronization";
  sync.status = Status::kConfirmed;
  sync.share = 0.5;
  sync.bound = 0.25;
  sync.gpu_ns = kSecond / 2;
  lab.trace.emplace().findings = {sync};
  const Advice advice = lab.Advise();
  const Recommendation* fix = Advised(advice, "remove_syncs");
  ASSERT_TRUE(fix != nullptr && fix->saving);
  EXPECT_NEAR(fix->saving->high, 0.25 / 7200, 1e-9);
}

TEST(AdviseTest, UnobservedTimeSavesNothing) {
  Lab lab;
  DeviceResult& gpu = lab.Gpu({{1000, 0, 1}});
  gpu.totals.unobserved_ns[0] = 1000 * kSecond;
  const Advice advice = lab.Advise();
  EXPECT_NEAR(advice.findings[0].share, 1, 1e-9);
  EXPECT_NEAR(Advised(advice, "stop_idle")->saving->high, 0.35, 1e-9);
  EXPECT_LE(*advice.savings.cost, *lab.cost().whole.waste);
}

TEST(AdviseTest, WithoutAPriceThereAreSharesButNoDollars) {
  Lab lab;
  lab.rate() = Rate{};
  lab.rate().reason = "no_price";
  lab.Gpu({{1000, 0, 1}});
  const Advice advice = lab.Advise();
  EXPECT_FALSE(advice.findings[0].cost);
  EXPECT_TRUE(Advised(advice, "stop_idle")->saving);
  EXPECT_FALSE(Advised(advice, "stop_idle")->saving_cost);
  EXPECT_FALSE(advice.savings.cost);
}

TEST(AdviseTest, QuantifiesTheRateOnlyFromTheCatalogue) {
  Lab given;
  given.Gpu({{600, 97}});
  given.rate().source = "--price 4";
  const Advice unknown = given.Advise();
  for (const std::string_view id : {"spot", "reserved", "right_size_region"}) {
    ASSERT_NE(Advised(unknown, id), nullptr) << id;
    EXPECT_FALSE(Advised(unknown, id)->saving) << id;
    EXPECT_EQ(Advised(unknown, id)->basis, "no offer to compare with: --price 4 is not a catalogue row") << id;
    EXPECT_TRUE(Advised(unknown, id)->cause.empty());
  }
  Lab listed;
  listed.Gpu({{600, 97}});
  listed.rate().kind = RateKind::kCatalogue;
  listed.rate().key = "acme:one:on_demand@eu-1";
  listed.rate().candidates = {{"acme:one:spot@eu-1", Money::Parse("1").value()},
                              {"acme:one:on_demand@eu-1", Money::Parse("4").value()}};
  const Advice spot = listed.Advise();
  EXPECT_NEAR(Advised(spot, "spot")->saving->high, 0.75, 1e-12);
  EXPECT_NEAR(Advised(spot, "spot")->saving->expected, 0.6, 1e-12);
  EXPECT_EQ(Declined(spot, "right_size_region"), "the catalogue has no lower on-demand price of this GPU");
  ExpectEveryLeverDecided(spot);
  EXPECT_NE(Advised(spot, "reserved"), nullptr) << "that the catalogue was told no such price refutes nothing";
  EXPECT_FALSE(IsQuantified(unknown));
  EXPECT_FALSE(unknown.savings.cost);
  EXPECT_TRUE(IsQuantified(spot));
  EXPECT_FALSE(spot.savings.time_cost) << "of time nothing is quantified";
  Lab owned;
  owned.Gpu({{600, 97}});
  owned.rate().kind = RateKind::kOwned;
  EXPECT_EQ(Declined(owned.Advise(), "spot"), "the hardware is owned");
}

// --- MIG ------------------------------------------------------------------------------------------------------

DeviceKey PartOfGpu0(std::optional<MigInstance> mig) {
  DeviceKey key;
  key.index = 0;
  key.name = "NVIDIA H100 80GB HBM3";
  key.mig = std::move(mig);
  return key;
}

// No cause holds more than was observed, whatever the board's own counters say: its throttling is that of seven
// slices, of which one was seen; a number that it goes on telling while it is cut is that slice's again.
TEST(AdviseTest, FindingsOnSlicesOfABoardAreNoMoreThanWhatWasObserved) {
  Lab lab;
  lab.Add(PartOfGpu0(MigInstance{"9", "1g.10gb", 1}), {{700, 97}, {700, 0, 1}});
  DeviceResult& board = lab.Add(PartOfGpu0({}), {{700, 97}, {700, 0, 1}});
  lab.Throttle(board, 1400, 6, true);
  const Advice advice = lab.Advise();
  EXPECT_EQ(lab.cost().whole.observed_ns, 200 * kSecond);
  const Finding* held = Find(advice, "idle_held");
  ASSERT_NE(held, nullptr);
  EXPECT_NEAR(held->share, 0.5, 1e-9);
  EXPECT_EQ(held->gpu_ns, 100 * kSecond);
  const Finding* throttling = Find(advice, "throttling");
  ASSERT_NE(throttling, nullptr);
  EXPECT_NEAR(throttling->share, 1, 1e-9);
}

// GPUs stand by place in a bill and by number in a run: a finding weighs each by its own share all the same.
TEST(AdviseTest, FindingsWeighADeviceByItsShareWhateverTheOrder) {
  Lab lab;
  DeviceKey last;
  last.host = "z";
  last.name = "NVIDIA H100 80GB HBM3";
  last.index = 0;
  lab.Add(last, {{700, 0, 1}});
  lab.Add(PartOfGpu0(MigInstance{"9", "3g.40gb", 3}), {{700, 0, 1}});
  const Advice advice = lab.Advise();
  const Finding* held = Find(advice, "idle_held");
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held->gpu_ns, 1000 * kSecond);
  EXPECT_NEAR(held->share, 1, 1e-9);
}

TEST(AdviseTest, AnHourOfADearGpuCountsForMore) {
  Lab lab;  // an hour at 4.00 of work, and one at 12.00 of nothing
  lab.Gpu({{3600, 97}});
  lab.rate().kind = RateKind::kCatalogue;
  lab.rate().key = "acme:one:on_demand@eu-1";
  lab.rate().candidates = {{"acme:one:spot@eu-1", Money::Parse("1").value()}};
  Rate& dear = lab.RateOf(lab.Gpu({{3600, 0, 0}}));
  dear.kind = RateKind::kOwned;
  dear.per_gpu_hour = Money::Parse("12").value();
  const Advice advice = lab.Advise();
  const Finding* empty = Find(advice, "idle_empty");
  ASSERT_NE(empty, nullptr);
  EXPECT_NEAR(empty->share, 0.5, 1e-9);  // of time
  EXPECT_EQ(empty->cost, Money::Parse("12").value());
  const Recommendation* stop = Advised(advice, "stop_idle");
  ASSERT_TRUE(stop != nullptr && stop->saving);
  EXPECT_NEAR(stop->saving->high, 11.0 / 16, 1e-9);  // of 12, without the first five minutes
  EXPECT_NEAR(stop->saving->expected, 0.55, 1e-9);   // 0.8 of it
  EXPECT_NEAR(static_cast<double>(stop->saving_cost->nano()), 8.8e9, 10);
  EXPECT_LE(*advice.savings.cost, *lab.cost().whole.waste);
  // Spot is for the one that is not owned: 3 of its 4, in 16.
  ASSERT_TRUE(Advised(advice, "spot")->saving);
  EXPECT_NEAR(Advised(advice, "spot")->saving->high, 3.0 / 16, 1e-12);
}

}  // namespace
}  // namespace idleburn
