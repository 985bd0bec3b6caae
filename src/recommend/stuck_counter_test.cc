// A counter that broke must not reach the advice: from samples to what is recommended.
#include <gtest/gtest.h>

#include <algorithm>

#include "classify/run_classifier.h"
#include "recommend/advice.h"
#include "support/advice_on.h"

namespace idleburn {
namespace {

BoardFacts NoFacts(std::string_view /*gpu_name*/) { return {}; }

// An hour of dcgm-exporter's default set, every 30 s: a kernel always resident, at `watts`. Without SM_ACTIVE.
struct Told {
  RunResult run;
  Advice advice;
};
Told Tell(std::int64_t watts, std::int64_t engine, std::int64_t tensor) {
  DeviceTable devices;
  DeviceKey key;
  key.index = 0;
  key.name = "NVIDIA H100 80GB HBM3";
  const DeviceId gpu = devices.Enter(key);
  devices.NameCounter(gpu, Signal::kUtilization, "dcgm.DCGM_FI_DEV_GPU_UTIL");
  devices.NameCounter(gpu, Signal::kTensorActive, "dcgm.DCGM_FI_PROF_PIPE_TENSOR_ACTIVE");
  const Thresholds thresholds;
  DataQuality quality;
  RunClassifier classifier(thresholds, devices, quality, NoFacts);
  for (std::int64_t second = 0; second <= 3600; second += 30) {
    Sample s;
    s.device = gpu;
    s.time = Instant::FromNanos((1'772'445'600 + second) * kNanosPerSecond);
    s.Set(Signal::kUtilization, 99 * kPercent);
    s.Set(Signal::kPower, watts * 1000);
    s.Set(Signal::kPowerLimit, 700'000);
    s.Set(Signal::kGrEngineActive, engine);
    s.Set(Signal::kTensorActive, tensor);
    s.Set(Signal::kDramActive, tensor);
    classifier.OnSamples({&s, 1});
  }
  Told told;
  told.run = classifier.Finish();
  Rate rate;
  rate.kind = RateKind::kGiven;
  rate.per_gpu_hour = Money::Parse("4").value();
  const CostReport cost =
      PriceRun(told.run, devices, OwnerLedger(), RateCard(rate), WorkDone(), EnergyPrice(), 720).value();
  told.advice = testing::AdviceOn({told.run, devices, cost});
  return told;
}

bool Finds(const Told& told, std::string_view cause) {
  return std::any_of(told.advice.findings.begin(), told.advice.findings.end(),
                     [&](const Finding& f) { return f.cause == cause; });
}
bool Advises(const Told& told, std::string_view lever) {
  return std::any_of(told.advice.recommendations.begin(), told.advice.recommendations.end(),
                     [&](const Recommendation& r) { return r.id == lever; });
}

TEST(StuckCounterTest, WhatABrokenCounterSaysAdvisesNothing) {
  // The same hour with counters that work: the tensor cores are idle while the GPU computes.
  const Told works = Tell(600, 97 * kPercent, 1 * kPercent);
  EXPECT_TRUE(Finds(works, "compute_bound"));
  EXPECT_TRUE(Advises(works, "mixed_precision"));
  // After an Xid all of them read 0 at 600 W of 700.
  const Told broken = Tell(600, 0, 0);
  const DeviceTotals& totals = broken.run.devices.at(0).totals;
  EXPECT_TRUE(totals.profiling_stuck);
  EXPECT_EQ(totals.phase_ns[3], 3600 * kNanosPerSecond) << "utilization is what is left, and it counts";
  for (const Integral& counter : {totals.gr_engine, totals.tensor_active, totals.dram_active, totals.sm_active}) {
    EXPECT_EQ(counter.ns, 0);
  }
  EXPECT_FALSE(Finds(broken, "compute_bound"));
  for (const std::string_view lever : {"mixed_precision", "fp8", "larger_gpu"}) {
    EXPECT_FALSE(Advises(broken, lever)) << lever;
  }
}

// What spun by SM activity before the counter broke is no longer known to have spun, in the timeline neither.
TEST(StuckCounterTest, SmActivityGoesWithTheRest) {
  DeviceTotals totals;
  totals.sm_active.Add(10, 5);
  totals.gr_engine.Add(10, 5);
  totals.spin_by_activity.Add(10, kFull);
  totals.timeline.At(7).sm_active.Add(10, 5);
  DeviceTotals by_engine = totals;
  totals.ForgetProfiling(Signal::kUtilization);
  EXPECT_EQ(totals.gr_engine.ns, 0);
  EXPECT_EQ(totals.spin_by_activity.ns, 0);
  EXPECT_EQ(totals.timeline.At(7).sm_active.ns, 0);
  by_engine.ForgetProfiling(Signal::kGrEngineActive);
  EXPECT_EQ(by_engine.gr_engine.ns, 10) << "it decided the phases: what is left of it is what was observed";
}

}  // namespace
}  // namespace idleburn
