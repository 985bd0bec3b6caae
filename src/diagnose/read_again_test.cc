#include "diagnose/read_again.h"

#include <gtest/gtest.h>

#include "diagnose/findings.h"

namespace idleburn {
namespace {

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
  EXPECT_EQ(unread.title, "GPUs are idle for a minute or longer; whether a process holds them was not read");
  EXPECT_EQ(unread.isolate, "record again with DCGM_FI_DEV_FB_USED in the counters of dcgm-exporter");
  EXPECT_EQ(IdleFor(600).title, "GPUs are held without being used");
}

}  // namespace
}  // namespace idleburn
