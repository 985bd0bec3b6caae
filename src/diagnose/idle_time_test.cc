// Which idle time somebody could have used: against a walk over every second of every GPU.

#include "diagnose/idle_time.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "support/property.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;

// GPUs by what each is in every second: at 0 % or not.
struct Rests {
  RunResult run;
  DeviceTable devices;
  CostReport cost;
  Thresholds thresholds;

  void Gpu(const std::vector<bool>& zero, const std::vector<std::string>& owners = {}, bool used = true) {
    DeviceKey key;
    key.index = static_cast<int>(run.devices.size());
    DeviceResult d;
    d.device = devices.Enter(key);
    for (std::size_t i = 0; i < zero.size(); ++i) {
      const auto second = static_cast<std::int64_t>(i);
      const std::size_t phase = zero[i] ? 0 : 3;
      d.totals.phase_ns[phase] += kSecond;
      d.totals.timeline.At(second).phase_ns[phase] += kSecond;
      if (!zero[i]) continue;
      (used ? d.totals.idle_held_ns : d.totals.idle_empty_ns) += kSecond;
      std::vector<ZeroRun>& runs = d.totals.zero_runs;
      if (runs.empty() || runs.back().to() != second * kSecond) runs.push_back({second * kSecond, 0});
      runs.back().ns += kSecond;
    }
    std::erase_if(d.totals.zero_runs, [&](const ZeroRun& r) { return r.ns < thresholds.idle_after.count(); });
    CostReport::DeviceCost device;
    device.device = d.device;
    device.owners = owners;
    cost.Add(device);
    run.devices.push_back(std::move(d));
  }
  [[nodiscard]] Scene Seen() const { return {run, devices, cost, {}, nullptr, false, thresholds}; }
  // Seconds that each GPU could have been given back, all of its time being idle stretches.
  [[nodiscard]] std::vector<std::int64_t> Given() const {
    std::vector<std::int64_t> seconds;
    const std::vector<StopTime> stops = FindStopTimes(Seen());
    for (std::size_t i = 0; i < stops.size(); ++i) {
      const Timeline& timeline = run.devices[i].totals.timeline;
      const std::vector<bool> none(timeline.buckets.size(), false);
      seconds.push_back(BeyondGrace(thresholds, stops[i], timeline, none) / kSecond);
    }
    return seconds;
  }
};

TEST(StopTimeTest, EachRunOfAJobCountsBeyondItsGrace) {
  test::ExpectProperty([] {
    Rests rests;
    rests.thresholds.idle_after = Nanos(*rc::gen::inRange(60, 120) * kSecond);
    rests.thresholds.idle_grace = Nanos(*rc::gen::inRange(0, 130) * kSecond);
    const auto gpus = *rc::gen::inRange<std::size_t>(1, 5);
    const std::size_t seconds = 900;
    std::vector<std::vector<bool>> zero(gpus);
    std::vector<int> job(gpus);
    for (std::size_t g = 0; g < gpus; ++g) {
      while (zero[g].size() < seconds) {
        zero[g].insert(zero[g].end(), *rc::gen::inRange<std::size_t>(1, 400), true);
        zero[g].insert(zero[g].end(), *rc::gen::inRange<std::size_t>(1, 60), false);
      }
      zero[g].resize(seconds);
      job[g] = *rc::gen::inRange(0, 3);
      rests.Gpu(zero[g], {"job " + std::to_string(job[g])});
    }
    const std::vector<std::int64_t> got = rests.Given();
    for (std::size_t g = 0; g < gpus; ++g) {
      std::int64_t want = 0;
      std::int64_t run = 0;
      for (std::size_t s = 0; s <= seconds; ++s) {
        bool all = s < seconds;
        for (std::size_t peer = 0; all && peer < gpus; ++peer) all = job[peer] != job[g] || zero[peer][s];
        if (all) {
          ++run;
          continue;
        }
        if (run * kSecond >= rests.thresholds.idle_after.count()) {
          want += std::max<std::int64_t>(0, run - rests.thresholds.idle_grace.count() / kSecond);
        }
        run = 0;
      }
      RC_ASSERT(got[g] == want);
    }
  });
}

std::vector<bool> For(std::int64_t seconds, bool zero) {
  return std::vector<bool>(static_cast<std::size_t>(seconds), zero);
}

TEST(StopTimeTest, WithoutOwnersEveryGpuInUseIsOfOneJob) {
  Rests rests;
  rests.Gpu(For(3600, false));
  rests.Gpu(For(3600, true));
  rests.Gpu(For(3600, true), {}, false);  // nobody's
  EXPECT_EQ(rests.Given(), (std::vector<std::int64_t>{0, 0, 3300}));
  EXPECT_TRUE(FindStopTimes(rests.Seen())[1].peers_work);
  EXPECT_EQ(WhyNoStop(rests.Seen()), "");
}

TEST(StopTimeTest, OwnersTellJobsApart) {
  Rests rests;
  rests.Gpu(For(3600, false), {"job 1"});
  rests.Gpu(For(3600, true), {"job 2"});
  rests.Gpu(For(3600, true), {"job 1", "job 3"});  // had by one after the other
  rests.Gpu(For(3600, true), {"job 3"});
  rests.Gpu(For(3600, true));  // nobody's, where others have somebody
  EXPECT_EQ(rests.Given(), (std::vector<std::int64_t>{0, 3300, 0, 0, 3300}));
}

TEST(StopTimeTest, SaysWhatIsLacking) {
  Rests busy;
  busy.Gpu(For(3600, false));
  busy.Gpu(For(3600, true));
  EXPECT_EQ(WhyNoStop(busy.Seen()),
            "other GPUs of the same job work while these are idle: all GPUs together are never at 0 % for 15 minutes");
  Rests brief;
  brief.Gpu(For(899, true));
  EXPECT_EQ(WhyNoStop(brief.Seen()), "no run of 15 minutes or longer at 0 % on all GPUs of a job (--idle-after)");
}

// Time that another cause has claimed is not given back a second time.
TEST(StopTimeTest, WhatIsTakenDoesNotCount) {
  Rests rests;
  rests.Gpu(For(2000, true));
  const StopTime stop = FindStopTimes(rests.Seen())[0];
  const Timeline& timeline = rests.run.devices[0].totals.timeline;
  std::vector<bool> taken(timeline.buckets.size(), false);
  const std::int64_t width = timeline.bucket_seconds;
  for (std::int64_t b = 0; b * width < 500; ++b) taken[static_cast<std::size_t>(b)] = true;
  EXPECT_EQ(BeyondGrace(rests.thresholds, stop, timeline, taken), (1500 - 300) * kSecond);
}

}  // namespace
}  // namespace idleburn
