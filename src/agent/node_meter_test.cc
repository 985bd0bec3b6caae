#include "agent/node_meter.h"

#include <gtest/gtest.h>

#include "agent/agent_metrics.h"

namespace idleburn {
namespace {

constexpr std::int64_t kStart = 1'790'000'000 / 3600 * 3600 + 3000;  // ten minutes before a full hour
constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kQuarter = kNanosPerSecond / 4;

// A node of one GPU, and its clocks, which a test moves by hand. The agent looks at them four times a second.
class NodeMeterTest : public ::testing::Test {
 protected:
  NodeMeterTest() {
    DeviceKey key;
    key.uuid = "GPU-1";
    device_ = meter_.devices().Enter(key);
  }

  // The machine works: ten readings a second, each with its stamp on the time line.
  void Run(std::int64_t seconds, std::int64_t percent = 100) {
    for (std::int64_t tick = 0; tick < seconds * 20; ++tick) {
      Pass(kNanosPerSecond / 20);
      if (tick % 2 == 0) Read(percent);
      if (tick % 5 == 4) meter_.Advance(Line(), clocks_);
    }
  }
  void Read(std::int64_t percent) {
    Sample sample;
    sample.device = device_;
    sample.time = Line();
    sample.Set(Signal::kUtilization, percent * kPercent);
    meter_.OnSamples({&sample, 1});
  }
  void Pass(std::int64_t ns) {
    clocks_.monotonic += Nanos(ns);
    Sleep(ns);
  }
  void Sleep(std::int64_t ns) {
    clocks_.boot += Nanos(ns);
    clocks_.wall = clocks_.wall + Nanos(ns);
  }
  void Set(std::int64_t seconds) { clocks_.wall = clocks_.wall + Nanos(seconds * kNanosPerSecond); }
  [[nodiscard]] Instant Line() const { return line_.At(clocks_.monotonic); }
  [[nodiscard]] NodeCounters Counters() const { return meter_.View(clocks_.wall).counters; }
  // Whole seconds of a phase or a reason of the GPU.
  static std::int64_t Seconds(std::int64_t units) { return units / (kUnitsPerMs * kMsPerSecond); }
  [[nodiscard]] std::int64_t Reason(std::size_t reason) const { return Seconds(Counters().gpus()[0].reasons[reason]); }
  static std::int64_t Sum(const PhaseUnits& units) {
    std::int64_t sum = 0;
    for (const std::int64_t each : units) sum += each;
    return Seconds(sum);
  }
  void ExpectWhole() const {
    const NodeCounters counters = Counters();
    const GpuCounters& gpu = counters.gpus()[0];
    EXPECT_EQ(Sum(gpu.live), counters.next() - gpu.born);
    if (counters.closed_at()) {
      EXPECT_EQ(Sum(gpu.closed), *counters.closed_at() - gpu.born);
    }
  }
  // The wall clock's second.
  [[nodiscard]] std::int64_t Now() const { return FloorSecond(clocks_.wall.nanos()); }

  Thresholds thresholds_;
  ClockReading clocks_{Nanos(5 * kNanosPerSecond), Nanos(9 * kNanosPerSecond),
                       Instant::FromNanos(kStart* kNanosPerSecond)};
  TimeLine line_{clocks_};
  NodeMeter meter_{thresholds_, NodeCounters(kStart, kHour),
                   [](const DeviceTable&) -> Result<RateCard> { return Fail("no price"); }, clocks_.wall};
  DeviceId device_ = 0;
};

TEST_F(NodeMeterTest, TheTimeThatTheMachineSleptIsUnobservedAndItsEdgesAreClosed) {
  Run(100);
  Sleep(2 * kHour * kNanosPerSecond);  // two full hours pass
  Run(20);
  ExpectWhole();
  const NodeCounters counters = Counters();
  EXPECT_EQ(counters.epoch(), kStart);
  EXPECT_EQ(counters.next(), Now() - kSettleSeconds);
  EXPECT_NEAR(static_cast<double>(Reason(kSlept)), 2 * kHour, 1);
  EXPECT_EQ(Reason(static_cast<std::size_t>(Unobserved::kClock)), 0);
  const GpuCounters& gpu = counters.gpus()[0];
  EXPECT_EQ(Seconds(gpu.live[0]), 0) << "sleep is not idle";
  EXPECT_NEAR(static_cast<double>(Seconds(gpu.live[3])), 118, 1);
  // The closed counter at the last edge: 100 s of work, and sleep since then.
  EXPECT_EQ(counters.closed_at(), kStart + 600 + kHour);
  EXPECT_NEAR(static_cast<double>(Seconds(gpu.closed[3])), 100, 1);
  EXPECT_NEAR(static_cast<double>(Seconds(gpu.closed[kUnobservedPhase])), 500 + kHour, 1);
  const std::vector<std::string> notes = meter_.TakeNotes();
  EXPECT_EQ(std::count(notes.begin(), notes.end(), "the machine slept for 2 h; that time is unobserved (suspend)"), 1);
  const NodeHealth health = meter_.View(clocks_.wall).health;
  EXPECT_EQ(health.clock_offset_ns, 0);
  EXPECT_FALSE(health.errors.contains("clock"));
}

// A day's sleep is no doubt about the clock: nothing starts from zero.
TEST_F(NodeMeterTest, AWeekendOfSleepKeepsTheCounts) {
  Run(10);
  Sleep(60 * kHour * kNanosPerSecond);
  Run(10);
  ExpectWhole();
  EXPECT_EQ(Counters().epoch(), kStart);
  EXPECT_EQ(meter_.View(clocks_.wall).health.resets, 0);
  EXPECT_NEAR(static_cast<double>(Reason(kSlept)), 60 * kHour, 1);
}

// Readings after the sleep may come before the agent looks at the clocks again. They do not make slept time busy.
TEST_F(NodeMeterTest, ReadingsBeforeTheNextLookDoNotFillTheSleep) {
  Run(10, 0);
  Sleep(50 * kNanosPerSecond);
  for (int i = 0; i < 10; ++i) {
    Pass(kQuarter / 2);
    Read(100);
  }
  Run(10, 0);
  ExpectWhole();
  EXPECT_GE(Reason(kSlept), 49);
  EXPECT_LE(Seconds(Counters().gpus()[0].live[3]), 1);
}

TEST_F(NodeMeterTest, AStepOfTheClockIsClockAndItsEdgeIsNotClosed) {
  Run(100);
  Set(20 * 60);  // over the full hour
  Run(20);
  ExpectWhole();
  EXPECT_FALSE(Counters().closed_at());
  EXPECT_NEAR(static_cast<double>(Reason(static_cast<std::size_t>(Unobserved::kClock))), 20 * 60, 1);
  EXPECT_EQ(Reason(kSlept), 0);
  EXPECT_EQ(meter_.View(clocks_.wall).health.clock_offset_ns, 20 * 60 * kNanosPerSecond);
}

// After a sleep the clock is often set as well.
TEST_F(NodeMeterTest, SleepAndAStepAtOnceAreToldApart) {
  Run(100);
  Sleep(100 * kNanosPerSecond);
  Set(50);
  Run(20);
  ExpectWhole();
  EXPECT_NEAR(static_cast<double>(Reason(kSlept)), 100, 1);
  EXPECT_NEAR(static_cast<double>(Reason(static_cast<std::size_t>(Unobserved::kClock))), 50, 1);
}

// Two steps within the seconds that are not counted yet.
TEST_F(NodeMeterTest, ASecondStepDoesNotHideTheFirst) {
  Run(10);
  Set(100);
  Run(1);
  Set(100);
  Run(10);
  ExpectWhole();
  // The second in which a step begins is counted as it was.
  EXPECT_EQ(Reason(static_cast<std::size_t>(Unobserved::kClock)), 2 * 99);
}

TEST_F(NodeMeterTest, AHangBeforeASleepIsNotAsLongAsTheSleep) {
  Run(10);
  meter_.OnNote({Line(), NoteKind::kDriverHang, "a call hangs"});
  Sleep(kHour * kNanosPerSecond);
  Pass(kQuarter);
  meter_.Advance(Line(), clocks_);
  ASSERT_TRUE(meter_.HangingFor(clocks_.wall));
  EXPECT_LT(*meter_.HangingFor(clocks_.wall), Nanos(2 * kNanosPerSecond));
}

// Without a driver the agent begins a new time line every minute. That is no step of the clock.
TEST_F(NodeMeterTest, ANewTimeLineAfterASleepIsNoStepBack) {
  Run(10);
  Sleep(3 * kHour * kNanosPerSecond);
  Run(10);
  line_ = TimeLine(clocks_);
  Run(10);
  ExpectWhole();
  EXPECT_EQ(Counters().epoch(), kStart);
  EXPECT_EQ(Reason(static_cast<std::size_t>(Unobserved::kClock)), 0);
}

// The series of a family, labels and value.
std::vector<std::pair<std::string, std::int64_t>> SeriesOfFamily(const NodeMeter& meter, const std::string& name,
                                                                 Instant at = {}) {
  std::vector<std::pair<std::string, std::int64_t>> series;
  bool found = false;
  for (const MetricFamily& family : AgentFamilies(meter.View(at), "n1", "1")) {
    if (family.name != name) continue;
    found = true;
    for (const MetricSample& sample : family.samples) series.emplace_back(sample.labels, sample.value.mantissa);
  }
  EXPECT_TRUE(found) << name << " is there from the start";
  return series;
}

constexpr const char* kInfiniband = "idleburn_host_infiniband_bytes";

TEST_F(NodeMeterTest, EveryPortHasItsOwnSeries) {
  EXPECT_TRUE(SeriesOfFamily(meter_, kInfiniband).empty());
  const std::vector<PortTraffic> first = {{"mlx5_0/1", 0, 0}, {"mlx5_1/1", 0, {}}};
  meter_.OnPorts(first);
  const std::vector<PortTraffic> ports = {{"mlx5_0/1", 100, 7}, {"mlx5_1/1", 30, {}}};
  meter_.OnPorts(ports);
  meter_.OnPorts(ports);
  const std::vector<std::pair<std::string, std::int64_t>> wanted = {
      {R"(node="n1",device="mlx5_0/1",direction="rx")", 200},
      {R"(node="n1",device="mlx5_0/1",direction="tx")", 14},
      {R"(node="n1",device="mlx5_1/1",direction="rx")", 60}};
  EXPECT_EQ(SeriesOfFamily(meter_, kInfiniband), wanted);
}

// A counter that stands still would claim that nothing moved.
TEST_F(NodeMeterTest, APortThatCannotBeReadIsAbsentAndGoesOnLater) {
  const std::vector<PortTraffic> ports = {{"mlx5_0/1", 100, 100}};
  const std::vector<PortTraffic> lost = {{"mlx5_0/1", {}, {}}};
  meter_.OnPorts(ports);
  meter_.OnPorts(lost);
  EXPECT_TRUE(SeriesOfFamily(meter_, kInfiniband).empty());
  meter_.OnPorts(ports);
  EXPECT_EQ(SeriesOfFamily(meter_, kInfiniband).at(0).second, 200);
}

TEST_F(NodeMeterTest, PortsBeyondTheCapAreOther) {
  std::vector<PortTraffic> ports;
  for (int i = 0; i < 100; ++i) ports.push_back({"mlx5_" + std::to_string(i) + "/1", 1, 2});
  for (int reading = 0; reading < 10; ++reading) {
    meter_.OnPorts(ports);
    std::reverse(ports.begin(), ports.end());  // as if a new session listed them in another order
  }
  const auto series = SeriesOfFamily(meter_, kInfiniband);
  EXPECT_EQ(series.size(), 2 * (kMostPorts + 1));
  std::int64_t received = 0, sent = 0, other = 0;
  for (const auto& [labels, value] : series) {
    (labels.ends_with(R"("rx")") ? received : sent) += value;
    if (labels == R"(node="n1",device="other",direction="rx")") other = value;
  }
  EXPECT_EQ(received, 1000);
  EXPECT_EQ(sent, 2000);
  EXPECT_EQ(other, 10 * static_cast<std::int64_t>(100 - kMostPorts));
}

TEST_F(NodeMeterTest, AHostileNameOfAPortIsEscaped) {
  const std::vector<PortTraffic> ports = {{"a\"} 1\nb\\/1", 1, {}}};
  meter_.OnPorts(ports);
  const std::string labels = SeriesOfFamily(meter_, kInfiniband).at(0).first;
  EXPECT_EQ(labels.find('\n'), std::string::npos);
  EXPECT_NE(labels.find(R"(device="a\"} 1)"), std::string::npos) << labels;
  EXPECT_NE(labels.find(R"(b\\/1",direction)"), std::string::npos) << labels;
}

// A board in a slot of 8 lanes, with two of its 18 NVLinks down. PCIe 5.0 moves 32 Gbit/s a lane, coded 128b/130b.
TEST_F(NodeMeterTest, LinksAndSmActivityAreGaugesWhereTheyAreKnown) {
  const char* const kPcie = "idleburn_gpu_pcie_link_bytes_per_second";
  const char* const kNvlink = "idleburn_gpu_nvlink_link_bytes_per_second";
  const char* const kSm = "idleburn_gpu_sm_active_ratio";
  Run(5);
  for (const char* family : {kPcie, kNvlink, kSm}) EXPECT_TRUE(SeriesOfFamily(meter_, family).empty()) << family;
  DeviceKey key;
  key.uuid = "GPU-2a000000-0000-0000-0000-000000000000";
  key.name = "NVIDIA H100 80GB HBM3";
  const DeviceId board = meter_.devices().Enter(key);
  for (const auto& [end, value] : {std::pair(".pcie_most_generation", "5"), {".pcie_width", "8"}, {".nvlinks", "16"}})
    meter_.OnFact({"gpu." + meter_.devices()[board].uuid + end, value});
  meter_.OnFact({"gpu.GPU-9.pcie_width", "16"});  // of a GPU that is not counted
  Run(2);
  Sample sample;
  sample.device = board;
  sample.time = Line();
  sample.Set(Signal::kSmActive, 12 * kPercent);
  meter_.OnSamples({&sample, 1});
  ASSERT_EQ(SeriesOfFamily(meter_, kPcie).size(), 1U);
  EXPECT_NEAR(static_cast<double>(SeriesOfFamily(meter_, kPcie)[0].second), 32e9 * 128 / 130 / 8 * 8, 8);
  ASSERT_EQ(SeriesOfFamily(meter_, kNvlink).size(), 1U);
  EXPECT_EQ(SeriesOfFamily(meter_, kNvlink)[0].second, 800'000'000'000);
  ASSERT_EQ(SeriesOfFamily(meter_, kSm, clocks_.wall).size(), 1U);
  EXPECT_EQ(SeriesOfFamily(meter_, kSm, clocks_.wall)[0].second, 12'000'000) << "micro-percent, with 8 decimals";
}

}  // namespace
}  // namespace idleburn
