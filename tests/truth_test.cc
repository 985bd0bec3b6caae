// What `idleburn run` says of a training whose every kernel is known: the seconds of each phase and what they cost.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "base/money.h"
#include "os/input_file.h"
#include "places.h"
#include "support/live_command.h"
#include "support/live_log.h"
#include "telemetry/recording.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr std::int64_t kWindow = 166'667'000;  // of the stand-in's utilization
constexpr std::array<const char*, 4> kNames = {"idle", "underutilized", "productive", "compute_bound"};

struct Phases {
  std::array<double, 4> seconds{};
  double unobserved = 0;
};

// From kernels to phases by the published definitions and nothing else: the driver publishes the busy share of each
// window in whole percent, stamped at its end; a second of the wall clock is what the mean of its readings says.
class KernelTruth {
 public:
  explicit KernelTruth(const json& truth) : wall_(truth.at("start_wall_ns").get<std::int64_t>()) {
    wall_ -= truth.at("start_ns").get<std::int64_t>();
    start_ = truth.at("driver_start_ns");
    for (const json& kernel : truth.at("kernels_ns")) kernels_.emplace_back(kernel[0], kernel[1]);
  }

  // Between two moments of the wall clock.
  [[nodiscard]] Phases Between(std::int64_t from, std::int64_t to) const {
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> cells;  // second: sum of percent, readings
    for (std::int64_t end = start_ + kWindow; end + wall_ <= to; end += kWindow) {
      if (end + wall_ < from) continue;
      auto& [sum, readings] = cells[(end + wall_) / kNanosPerSecond];
      sum += std::lround(100.0 * static_cast<double>(Busy(end - kWindow, end)) / static_cast<double>(kWindow));
      ++readings;
    }
    Phases phases;
    for (std::int64_t cell = from / kNanosPerSecond; cell * kNanosPerSecond < to; ++cell) {
      const std::int64_t begin = std::max(from, cell * kNanosPerSecond);
      const double seconds = static_cast<double>(std::min(to, (cell + 1) * kNanosPerSecond) - begin) / 1e9;
      const auto [sum, n] = cells[cell];
      const std::size_t phase = sum < 10 * n ? 0 : sum < 70 * n ? 1 : sum < 90 * n ? 2 : 3;
      (n == 0 ? phases.unobserved : phases.seconds[phase]) += seconds;
    }
    return phases;
  }

 private:
  [[nodiscard]] std::int64_t Busy(std::int64_t from, std::int64_t to) const {
    std::int64_t busy = 0;
    for (const auto& [start, end] : kernels_) {
      busy += std::max<std::int64_t>(0, std::min(end, to) - std::max(start, from));
    }
    return busy;
  }

  std::int64_t wall_;  // wall clock less monotonic
  std::int64_t start_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> kernels_;
};

double Dollars(const json& exact) { return static_cast<double>(Money::Parse(exact.get<std::string>())->nano()) / 1e9; }

// Epochs of seven seconds and a bit, so that their parts begin at other places of the clock's second each time. Before
// the first and after the last the GPU is idle: when the program starts and ends decides nothing else.
TEST(TruthTest, AStarvedLoaderIsAuditedWithItsTruePhasesAndCosts) {
  const LiveMachine machine("gpu 0\n", true);
  const ProgramRun run = machine.Run(
      "$I run --price 3600 --format json -o $F/live --recording $F/kept.idleburn -- $T starved 30 --setup 1.2 "
      "--epoch 7.2 --batch-cpu 0.04 --kernel 0.06 --truth $F/truth --data " IDLEBURN_ROOT "/LICENSE");
  ASSERT_EQ(run.code, 0) << run.err;
  const auto source = OpenInput(machine.Path("kept.idleburn"));
  ASSERT_TRUE(source);
  DeviceTable devices;
  DataQuality quality;
  LiveLog log;
  ASSERT_TRUE(ReadRecording(**source, devices, quality, log));
  const std::int64_t start = std::stoll(log.Fact("window.start_ns").value());
  const std::int64_t end = std::stoll(log.Fact("window.end_ns").value());

  json told = machine.Json("truth");
  const Phases truth = KernelTruth(told).Between(start, end);
  const json live = machine.Json("live");
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    const json& phase = live["phases"][kNames[i]];
    EXPECT_NEAR(Seconds(phase["gpu_hours"]), truth.seconds[i], 0.01 * truth.seconds[i]) << kNames[i];
    EXPECT_NEAR(Dollars(phase["cost_exact"]), truth.seconds[i], 0.005) << kNames[i];  // a dollar a second
  }
  EXPECT_GE(truth.seconds[1], 1);
  EXPECT_GE(truth.seconds[3], 2);
  // What is idle before the driver answers first is unobserved.
  const double unobserved = Seconds(live["gpu_hours"]["unobserved"]);
  EXPECT_LE(unobserved, 0.5);
  const double idle = truth.seconds[0] + truth.unobserved;
  EXPECT_GE(idle, 4);
  EXPECT_NEAR(Seconds(live["phases"]["idle"]["gpu_hours"]) + unobserved, idle, 0.01 * idle);
  // The whole costs what its window lasts; the program's own clock begins and ends a moment inside it.
  EXPECT_NEAR(Dollars(live["cost"]["total_exact"]), static_cast<double>(end - start) / 1e9, 1e-6);
  const double own = told.at("seconds");
  EXPECT_GE(Dollars(live["cost"]["total_exact"]), own);
  EXPECT_LE(Dollars(live["cost"]["total_exact"]), 1.01 * own);
}

}  // namespace
}  // namespace idleburn::testing
