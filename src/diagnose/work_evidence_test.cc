// What a busy GPU is said to do, by what was read beside its utilisation.
#include "diagnose/work_evidence.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/findings.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;

// A GPU at 100 % for ten minutes.
struct Busy {
  std::optional<std::int64_t> watts = {};
  std::optional<std::int64_t> limit = {};
  std::optional<std::int64_t> idle = {};   // watts, known
  std::optional<std::int64_t> sm = {};     // percent
  std::optional<std::int64_t> clock = {};  // percent of the highest
  std::int64_t throttled = 0;              // seconds
  std::int64_t dim = 0;                    // seconds that were found at little power
};

struct Lab {
  RunResult run;
  DeviceTable devices;
  CostReport cost;

  void Gpu(const Busy& busy) {
    DeviceKey key;
    key.index = static_cast<int>(run.devices.size());
    DeviceResult d;
    d.device = devices.Enter(key);
    devices.NameCounter(d.device, Signal::kUtilization, "nvidia_smi.utilization.gpu");
    devices.NameCounter(d.device, Signal::kPower, "nvidia_smi.power.draw");
    d.counter = Signal::kUtilization;
    d.totals.phase_ns[3] = 600 * kSecond;
    d.totals.utilization.Add(600 * kSecond, kFull);
    for (std::int64_t s = 0; s < 600; ++s) {
      Timeline::Bucket& bucket = d.totals.timeline.At(1000 + s);
      bucket.phase_ns[3] = kSecond;
      bucket.utilization.Add(kSecond, kFull);
      if (busy.watts) bucket.busy_power.Add(kSecond, *busy.watts * 1000);
      if (busy.sm) bucket.sm_active.Add(kSecond, *busy.sm * kPercent);
    }
    if (busy.limit) d.spin.limit_mw = *busy.limit * 1000;
    if (busy.idle) d.spin.idle_mw = *busy.idle * 1000;
    d.spin.lacks = busy.idle ? SpinVerdict::Lacks::kNothing : SpinVerdict::Lacks::kLongIdle;
    d.spin.dim_ns = busy.dim * kSecond;
    if (busy.clock) {
      d.max_sm_khz = 2'000'000;
      d.totals.busy_clock.Add(600 * kSecond, *busy.clock * 20'000);
      d.totals.reasons_ns = 600 * kSecond;
      d.totals.throttled_ns = busy.throttled * kSecond;
    }
    Add(std::move(d));
  }
  void Add(DeviceResult d) {
    run.devices.push_back(std::move(d));
    cost = PriceRun(run, devices, OwnerLedger(), RateCard(Rate()), WorkDone(), EnergyPrice(), 720).value();
  }
  [[nodiscard]] Scene Seen() const { return {run, devices, cost}; }
};

Finding Found(const std::vector<Busy>& gpus) {
  Lab lab;
  for (const Busy& gpu : gpus) lab.Gpu(gpu);
  const std::vector<Finding> findings = FindCauses(lab.Seen());
  EXPECT_EQ(findings.size(), 1U);
  EXPECT_EQ(CannotTellWork(lab.Seen()), findings[0].cause == "unknown");
  return findings[0];
}

std::string Evidence(const Finding& f) {
  std::string all;
  for (const std::string& e : f.evidence) all += e + "\n";
  return all;
}

// Each witness at its threshold and just below it.
TEST(WorkEvidenceTest, HealthyNeedsAWitnessBesidesUtilization) {
  EXPECT_EQ(Found({{}}).cause, "unknown");
  EXPECT_EQ(Found({{.sm = 50}}).cause, "healthy");
  EXPECT_EQ(Found({{.sm = 49}}).cause, "unknown");
  EXPECT_EQ(Found({{.watts = 350, .limit = 700}}).cause, "healthy");
  EXPECT_EQ(Found({{.watts = 349, .limit = 700}}).cause, "unknown");
  EXPECT_EQ(Found({{.watts = 690}}).cause, "unknown")
      << "watts alone are the idle draw of one board, and the limit of another";
  // Idle 70 W: 40 % of the range to 700 W are 322 W, if nothing holds the clocks back.
  EXPECT_EQ(Found({{.watts = 322, .limit = 700, .idle = 70, .clock = 90}}).cause, "healthy");
  EXPECT_EQ(Found({{.watts = 321, .limit = 700, .idle = 70, .clock = 90}}).cause, "unknown");
  EXPECT_EQ(Found({{.watts = 322, .limit = 700, .idle = 70, .clock = 89}}).cause, "unknown");
  EXPECT_EQ(Found({{.watts = 322, .limit = 700, .idle = 70}}).cause, "unknown") << "clocks were not read";
}

TEST(WorkEvidenceTest, AThrottledBoardIsNoWitnessByItsLoad) {
  Lab lab;
  lab.Gpu({.watts = 322, .limit = 700, .idle = 70, .clock = 95, .throttled = 18});
  EXPECT_EQ(EvidenceOfWork(lab.Seen(), lab.run.devices[0]), WorkEvidence::kNone);
  lab.run.devices[0].totals.throttled_ns = 17 * kSecond;  // below 3 %
  EXPECT_EQ(EvidenceOfWork(lab.Seen(), lab.run.devices[0]), WorkEvidence::kLoad);
}

TEST(WorkEvidenceTest, OneGpuWithoutAWitnessIsEnoughNotToKnow) {
  const Busy works{.watts = 600, .limit = 700};
  const Finding f = Found({works, works, {}, works});
  EXPECT_EQ(f.cause, "unknown");
  EXPECT_NEAR(f.share, 0.25, 1e-9);
  EXPECT_NE(f.isolate.find("power.draw,enforced.power.limit"), std::string::npos);
  EXPECT_NE(Evidence(f).find("GPU 2: power was read, but no power limit") == std::string::npos
                ? Evidence(f).find("GPU 2: power was not read")
                : 0U,
            std::string::npos)
      << Evidence(f);
}

TEST(WorkEvidenceTest, BusyWithoutDrawingPowerCannotBeTold) {
  const Finding f = Found({{.watts = 170, .limit = 700, .dim = 600}});
  EXPECT_EQ(f.cause, "unknown");
  EXPECT_EQ(f.status, Status::kUnknown);
  EXPECT_EQ(f.title, "GPUs look busy but draw little power; no data on whether they work");
  EXPECT_NEAR(f.share, 1, 1e-9);
  EXPECT_EQ(f.bound, 0);
  for (const char* part :
       {"at most 35 % of the limit for 60 s or longer", "averages 170 W while busy, 24 % of the limit",
        "idle power was not measured", "--idle-power"}) {
    EXPECT_NE(Evidence(f).find(part), std::string::npos) << part << " in\n" << Evidence(f);
  }
  // Also where SM activity is neither little nor much, and where idle power is known and says that it is no wait.
  EXPECT_EQ(Found({{.watts = 170, .limit = 700, .sm = 60, .dim = 600}}).cause, "unknown");
  EXPECT_NE(
      Evidence(Found({{.watts = 230, .limit = 700, .idle = 70, .dim = 600}})).find("more than a waiting GPU draws"),
      std::string::npos);
}

// The counter was read, and says nothing of work by that: at little power it backs no advice.
TEST(WorkEvidenceTest, TensorActivityThatWasReadIsNoWorkAtLittlePower) {
  Lab lab;
  lab.Gpu({.watts = 170, .limit = 700, .dim = 600});
  lab.run.devices[0].totals.tensor_active.Add(600 * kSecond, 0);
  EXPECT_EQ(BackedComputeNs(lab.run.devices[0]), 0);
  lab.run.devices[0].spin.dim_ns = 0;
  EXPECT_EQ(BackedComputeNs(lab.run.devices[0]), 600 * kSecond);
}

// Three GPUs at 100 % and little power, the fourth at 3 %: one job that waits for it, as far as anybody can tell.
TEST(WorkEvidenceTest, TheGpuThatOthersMayWaitForIsNamed) {
  Lab lab;
  for (int i = 0; i < 3; ++i) lab.Gpu({.watts = 150, .limit = 700, .dim = 600});
  DeviceKey key;
  key.index = 3;
  DeviceResult low;
  low.device = lab.devices.Enter(key);
  low.counter = Signal::kUtilization;
  low.totals.phase_ns[0] = low.totals.idle_held_ns = 600 * kSecond;
  low.totals.utilization.Add(600 * kSecond, 3 * kPercent);
  for (std::int64_t s = 0; s < 600; ++s) {
    Timeline::Bucket& bucket = low.totals.timeline.At(1000 + s);
    bucket.phase_ns[0] = bucket.held_ns = kSecond;
    bucket.utilization.Add(kSecond, 3 * kPercent);
  }
  lab.Add(std::move(low));
  const std::vector<Finding> findings = FindCauses(lab.Seen());
  const auto dim =
      std::find_if(findings.begin(), findings.end(), [](const Finding& f) { return f.cause == "unknown"; });
  ASSERT_NE(dim, findings.end());
  EXPECT_NE(Evidence(*dim).find("GPU 3 is below 30 % in 100 % of that time"), std::string::npos) << Evidence(*dim);
}

}  // namespace
}  // namespace idleburn
