#include "classify/run_classifier.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

BoardFacts NoFacts(std::string_view /*gpu_name*/) { return {}; }

// Ten readings a second of a GPU that is idle and productive by turns, three seconds each.
Sample At(int tick) {
  Sample sample;
  sample.time = Instant::FromNanos(1'700'000'000 * kNanosPerSecond + tick * (kNanosPerSecond / 10));
  sample.Set(Signal::kUtilization, tick / 30 % 2 == 0 ? 0 : 80 * kPercent);
  return sample;
}

TEST(RunClassifierTest, WhatIsSaidSoFarIsWhatAnEndWouldSayAndChangesNothing) {
  DeviceTable devices;
  DeviceKey key;
  key.index = 0;
  devices.Enter(key);
  const Thresholds thresholds;
  DataQuality quality;
  RunClassifier live(thresholds, devices, quality, NoFacts);
  for (int tick = 0; tick < 300; ++tick) {
    const Sample sample = At(tick);
    live.OnSamples(std::span(&sample, 1));
    if (tick % 47 != 0) continue;
    DataQuality doubts;
    RunClassifier twin(thresholds, devices, doubts, NoFacts);
    for (int t = 0; t <= tick; ++t) {
      const Sample again = At(t);
      twin.OnSamples(std::span(&again, 1));
    }
    const RunResult said = live.SoFar();
    const RunResult ended = twin.Finish();
    ASSERT_EQ(said.devices.size(), 1U);
    EXPECT_EQ(said.devices[0].totals, ended.devices[0].totals) << tick;
    EXPECT_EQ(said.devices[0].last, ended.devices[0].last) << tick;
  }
  EXPECT_EQ(live.Finish().devices[0].totals.phase_ns[0], 15 * kNanosPerSecond);
}

}  // namespace
}  // namespace idleburn
