#include "diagnose/findings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/make_finding.h"

namespace idleburn {
namespace {

constexpr std::int64_t kHour = kNanosPerHour;

// An hour of one GPU that is starved as samples see it, with a trace of a second of it beside.
struct JoinedRun {
  JoinedRun() {
    DeviceKey key;
    key.index = 0;
    DeviceResult d;
    d.device = devices.Enter(key);
    d.counter = Signal::kUtilization;
    d.totals.phase_ns = {0, kHour, 0, 0};
    d.totals.utilization.Add(kHour, 40 * kPercent);
    d.totals.timeline.bucket_seconds = 3600;
    d.totals.timeline.buckets.resize(1);
    d.totals.timeline.buckets[0].phase_ns = d.totals.phase_ns;
    d.totals.timeline.buckets[0].utilization = d.totals.utilization;
    run.devices.push_back(d);
    Rate rate;
    rate.per_gpu_hour = Money::Cents(400);
    cost = PriceRun(run, devices, {}, rate, {}, {}, 720).value();
  }
  Scene With(std::vector<Finding> findings, bool only = false) {
    trace.findings = std::move(findings);
    return {run, devices, cost, {}, &trace, only};
  }
  static Finding Of(std::string_view cause, Status status, double share, double bound) {
    Finding f;
    f.cause = cause;
    f.status = status;
    f.share = share;
    f.bound = bound;
    f.gpu_ns = static_cast<std::int64_t>(share * kNanosPerSecond);
    f.evidence = {"seen in the trace"};
    return f;
  }
  RunResult run;
  DeviceTable devices;
  CostReport cost;
  TraceDiagnosis trace;
};

const Finding* Find(const std::vector<Finding>& all, std::string_view cause) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.cause == cause; });
  return at == all.end() ? nullptr : &*at;
}

TEST(CausesTest, TheDearestStandsFirstWhereHoursHaveSeveralPrices) {
  Finding many;
  many.cause = "idle_held";
  many.share = 0.9;
  many.cost = Money::Cents(600);
  Finding dear = many;
  dear.cause = "unknown";
  dear.share = 0.1;
  dear.cost = Money::Cents(5400);
  Finding unpriced = dear;
  unpriced.cause = "spin_wait";
  unpriced.cost.reset();
  const auto order = [&](std::size_t rates) {
    CostReport cost;
    cost.rates.resize(rates);
    std::vector<Finding> findings = {many, unpriced, dear};
    SortByLoss(cost, findings);
    return std::vector<std::string_view>{findings[0].cause, findings[1].cause, findings[2].cause};
  };
  EXPECT_EQ(order(2), (std::vector<std::string_view>{"unknown", "idle_held", "spin_wait"}));
  EXPECT_EQ(order(1), (std::vector<std::string_view>{"idle_held", "spin_wait", "unknown"}));
}

TEST(CausesTest, ATraceAloneGivesItsOwnFindingsAndTheirMoney) {
  JoinedRun run;
  const std::vector<Finding> found =
      Diagnose(run.With({JoinedRun::Of("synchronization", Status::kLikely, 0.36, 0.36)}, true));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cost, Money::Nano(400'000));  // 0.36 s at $4.00 an hour
  EXPECT_DOUBLE_EQ(found[0].bound, 0.36);
}

TEST(CausesTest, WhatOnlyATraceShowsSavesNoMoreThanItsWindow) {
  JoinedRun run;
  const std::vector<Finding> found = Diagnose(run.With({JoinedRun::Of("synchronization", Status::kLikely, 0.5, 0.25)}));
  const Finding* sync = Find(found, "synchronization");
  ASSERT_NE(sync, nullptr);
  EXPECT_EQ(sync->status, Status::kLikely);
  EXPECT_NEAR(sync->bound, 0.25 / 3600, 1e-12);  // of the hour
  EXPECT_DOUBLE_EQ(sync->share, 0.5);            // of the traced second
  EXPECT_NEAR(sync->ShareOfRun(), 0.5 / 3600, 1e-12);
  ASSERT_NE(Find(found, "unknown"), nullptr) << "the samples' own finding stays";
  EXPECT_EQ(found.front().cause, "unknown") << "half of a second is less than a starved hour";
}

TEST(CausesTest, WithoutATraceSamplesSpeakAlone) {
  JoinedRun run;
  const std::vector<Finding> found = Diagnose({run.run, run.devices, run.cost});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cause, "unknown");
}

constexpr std::int64_t kSecond = kNanosPerSecond;

// One GPU whose utilization comes from `counter`.
struct OneGpu {
  explicit OneGpu(const std::string& counter) {
    DeviceKey key;
    key.index = 0;
    DeviceResult d;
    d.device = devices.Enter(key);
    if (!counter.empty()) devices.NameCounter(d.device, Signal::kUtilization, counter);
    d.counter = Signal::kUtilization;
    run.devices.push_back(d);
  }
  DeviceTotals& totals() { return run.devices[0].totals; }
  // The first finding.
  Finding Find() {
    cost = PriceRun(run, devices, {}, Rate(), {}, {}, 720).value();
    return FindCauses({run, devices, cost}).front();
  }
  RunResult run;
  DeviceTable devices;
  CostReport cost;
};

TEST(ReadAgainTest, WhoeverUsesOneToolIsNotSentToAnother) {
  const struct {
    const char* counter;
    const char* tool;
  } cases[] = {{"rocm_smi.GPU use (%)", "record again: rocm-smi "},
               {"dcgm.DCGM_FI_DEV_GPU_UTIL", "record again: several scrapes, "},
               {"nvidia_smi_dmon.sm", "record again: nvidia-smi dmon "},
               {"nvidia_smi.utilization.gpu", "record again: nvidia-smi --query-gpu="},
               {"", "record again: nvidia-smi --query-gpu="}};
  for (const auto& c : cases) {
    const Finding nothing = OneGpu(c.counter).Find();
    EXPECT_EQ(nothing.cause, "unknown");
    EXPECT_TRUE(nothing.isolate.starts_with(c.tool)) << c.counter << ": " << nothing.isolate;
  }
}

// Ten minutes idle, of which `held` seconds with a process.
Finding IdleFor(std::int64_t held) {
  OneGpu gpu("dcgm.DCGM_FI_DEV_GPU_UTIL");
  DeviceTotals& totals = gpu.totals();
  totals.phase_ns[0] = 600 * kSecond;
  totals.idle_held_ns = held * kSecond;
  totals.idle_unknown_ns = (600 - held) * kSecond;
  totals.timeline.buckets.resize(600);
  for (std::int64_t s = 0; s < 600; ++s) {
    TimelineBucket& bucket = totals.timeline.buckets[static_cast<std::size_t>(s)];
    bucket.phase_ns[0] = kSecond;
    bucket.held_ns = s < held ? kSecond : 0;
  }
  return gpu.Find();
}

TEST(ReadAgainTest, IdleTimeOfAnUnknownHolderIsNotSaidToBeHeldOrEmpty) {
  const Finding unread = IdleFor(0);
  EXPECT_EQ(unread.cause, "idle");
  EXPECT_EQ(unread.title, "GPUs are idle for a minute or longer; no data on which process holds them");
  EXPECT_EQ(unread.isolate, "record again with DCGM_FI_DEV_FB_USED in the counters of dcgm-exporter");
  EXPECT_EQ(IdleFor(600).title, "GPUs are held without being used");
}

}  // namespace
}  // namespace idleburn
