#include "watch/gpu_load.h"

#include <gtest/gtest.h>

#include <functional>

namespace idleburn {
namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;

// A GPU that is read once a second; what fires, and after how many seconds.
class GpuLoadTest : public ::testing::Test {
 protected:
  void Watch(LoadAlert alert, LoadRule rule) {
    alert_ = alert;
    rules_ = {};
    rules_[Index(alert)] = rule;
    load_.emplace(rules_, thresholds_);
    load_->SetLinks(10 * kGigabyte, 900 * kGigabyte);
    second_ = 1000;
  }
  // Seconds until it fired; -1: it did not within `seconds`.
  int Run(int seconds, const std::function<void(int, Sample&)>& fill) {
    int fired = -1;
    for (int i = 0; i < seconds; ++i, ++second_) {
      Sample s;
      s.time = Instant::FromNanos(second_ * kNanosPerSecond);
      fill(i, s);
      load_->Feed(s);
      if (load_->Take(alert_)) {
        EXPECT_EQ(fired, -1) << "it fired twice";
        fired = i;
      }
    }
    return fired;
  }
  int Utilization(int seconds, std::int64_t micro_percent) {
    return Run(seconds, [&](int, Sample& s) { s.Set(Signal::kUtilization, micro_percent); });
  }
  // SM activity and what PCIe moves to the GPU.
  int Traffic(int seconds, std::int64_t sm, std::int64_t received) {
    return Run(seconds, [&](int, Sample& s) {
      s.Set(Signal::kUtilization, 60 * kPercent);
      s.Set(Signal::kSmActive, sm);
      s.Set(Signal::kPcieRx, received);
    });
  }
  Thresholds thresholds_;
  LoadRules rules_;
  LoadAlert alert_ = LoadAlert::kMemory;
  std::optional<GpuLoad> load_;
  std::int64_t second_ = 0;
};

TEST_F(GpuLoadTest, AMeanBelowHalfForAnHourIsSaidOnce) {
  Watch(LoadAlert::kLowUtilization, kLoadAlerts[0].usual);
  EXPECT_EQ(Utilization(3600, 50 * kPercent - 1), -1);  // 3,599 whole seconds
  EXPECT_EQ(Utilization(7200, 50 * kPercent - 1), 0);
  Watch(LoadAlert::kLowUtilization, kLoadAlerts[0].usual);
  EXPECT_EQ(Utilization(20'000, 50 * kPercent), -1);
}

TEST_F(GpuLoadTest, TheMeanCountsAndNotEverySecond) {
  Watch(LoadAlert::kLowUtilization, {50 * kPercent, Nanos(600 * kNanosPerSecond)});
  const auto bursts = [](int high) {
    return [high](int i, Sample& s) { s.Set(Signal::kUtilization, i % 10 < high ? kFull : 0); };
  };
  EXPECT_EQ(Run(5000, bursts(5)), -1);
  EXPECT_GE(Run(5000, bursts(4)), 0);
  EXPECT_EQ(Run(599, bursts(9)), -1);
  EXPECT_EQ(Run(600, bursts(9)), -1);    // the old stretch is over
  EXPECT_GE(Run(1300, bursts(1)), 300);  // and a new one is said again
}

// 0 % at three quarters of the power limit is a broken counter, not an idle GPU; at a tenth of it the GPU is idle.
TEST_F(GpuLoadTest, ABrokenCounterIsNoLowUtilization) {
  for (const Signal counter : {Signal::kUtilization, Signal::kGrEngineActive}) {
    Watch(LoadAlert::kLowUtilization, {50 * kPercent, Nanos(600 * kNanosPerSecond)});
    const auto drawing = [&](std::int64_t milliwatts) {
      return [counter, milliwatts](int, Sample& s) {
        s.Set(counter, 0);
        s.Set(Signal::kPower, milliwatts);
        s.Set(Signal::kPowerLimit, 400'000);
      };
    };
    EXPECT_EQ(Run(2000, drawing(300'000)), -1);
    EXPECT_GE(Run(2000, drawing(40'000)), 300);
  }
}

TEST_F(GpuLoadTest, TimeWithoutAReadingCountsAsBusy) {
  Watch(LoadAlert::kLowUtilization, {50 * kPercent, Nanos(600 * kNanosPerSecond)});
  EXPECT_EQ(Utilization(500, 0), -1);
  second_ += 400;
  EXPECT_EQ(Utilization(300, 10 * kPercent), -1);  // as if it had worked in those 400
}

TEST_F(GpuLoadTest, MemoryBeyondTheLimitIsSaidOnceUntilItFell) {
  Watch(LoadAlert::kMemory, kLoadAlerts[1].usual);
  const auto memory = [this](int seconds, std::int64_t percent) {
    return Run(seconds, [&](int, Sample& s) {
      s.Set(Signal::kMemoryUsed, percent * kGigabyte);
      s.Set(Signal::kMemoryTotal, 100 * kGigabyte);
    });
  };
  EXPECT_EQ(memory(100, 85), -1);
  EXPECT_EQ(memory(100, 86), 1);
  EXPECT_EQ(memory(100, 82), -1);
  EXPECT_EQ(memory(100, 90), -1);  // allocators breathe: that was no fall
  EXPECT_EQ(memory(100, 79), -1);
  EXPECT_EQ(memory(100, 90), 1);
}

TEST_F(GpuLoadTest, APcieStallNeedsFullTrafficAndLittleWorkForItsTime) {
  const LoadRule rule = kLoadAlerts[2].usual;
  Watch(LoadAlert::kPcieStall, rule);
  EXPECT_EQ(Traffic(600, 24 * kPercent, 8 * kGigabyte), -1);  // 599 whole seconds
  EXPECT_EQ(Traffic(1000, 24 * kPercent, 8 * kGigabyte), 0);
  Watch(LoadAlert::kPcieStall, rule);
  EXPECT_EQ(Traffic(2000, 24 * kPercent, 8 * kGigabyte - 1), -1);
  EXPECT_EQ(Traffic(2000, 25 * kPercent, 9 * kGigabyte), -1);
  Watch(LoadAlert::kPcieStall, rule);
  load_->SetLinks(0, 0);  // nobody told how fast the link is
  EXPECT_EQ(Traffic(2000, 0, 60 * kGigabyte), -1);
  Watch(LoadAlert::kPcieStall, rule);
  EXPECT_EQ(Traffic(590, 1, 9 * kGigabyte), -1);
  EXPECT_EQ(Traffic(3, 90 * kPercent, 9 * kGigabyte), -1);  // a break begins anew
  EXPECT_EQ(Traffic(590, 1, 9 * kGigabyte), -1);
  second_ += 10;  // and so does a gap
  EXPECT_EQ(Traffic(590, 1, 9 * kGigabyte), -1);
}

TEST_F(GpuLoadTest, AnAllReduceStallIsNvlinkTrafficOrSpinWait) {
  const LoadRule rule = kLoadAlerts[3].usual;
  const auto nvlink = [this](int seconds, std::int64_t tensor, std::int64_t moved) {
    return Run(seconds, [&](int, Sample& s) {
      s.Set(Signal::kUtilization, 70 * kPercent);
      s.Set(Signal::kTensorActive, tensor);
      s.Set(Signal::kNvlink, moved);
    });
  };
  Watch(LoadAlert::kAllReduceStall, rule);
  EXPECT_EQ(nvlink(700, kPercent, 720 * kGigabyte), 600);
  Watch(LoadAlert::kAllReduceStall, rule);
  EXPECT_EQ(nvlink(2000, 2 * kPercent, 720 * kGigabyte), -1);
  EXPECT_EQ(nvlink(2000, kPercent, 719 * kGigabyte), -1);
  const auto spin = [this](int seconds, std::int64_t utilization, std::int64_t sm) {
    return Run(seconds, [&](int, Sample& s) {
      s.Set(Signal::kUtilization, utilization);
      s.Set(Signal::kSmActive, sm);
    });
  };
  Watch(LoadAlert::kAllReduceStall, rule);
  EXPECT_EQ(spin(700, 95 * kPercent, 10 * kPercent), 600);
  Watch(LoadAlert::kAllReduceStall, rule);
  EXPECT_EQ(spin(2000, 89 * kPercent, 10 * kPercent), -1);
  EXPECT_EQ(spin(2000, 95 * kPercent, 25 * kPercent), -1);
  EXPECT_EQ(spin(2000, 95 * kPercent, 0), -1);  // a counter that is not read
}

}  // namespace
}  // namespace idleburn
