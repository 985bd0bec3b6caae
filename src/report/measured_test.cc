#include "report/measured.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/write_audit.h"
#include "support/audit_fixture.h"

namespace idleburn {
namespace {

using nlohmann::json;

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

// Two GPUs for 100 s each: power, memory and the link of each are set by hand.
class MeasuredViewTest : public ::testing::Test {
 protected:
  MeasuredViewTest() {
    for (int i = 0; i < 2; ++i) {
      audit_.Add({.uuid = "GPU-" + std::to_string(i), .percent = [](int) { return 50; }, .power = false}, 100);
      audit_.devices.NameCounter(static_cast<DeviceId>(i), Signal::kPower, "nvml.power.draw");
      audit_.devices.NameCounter(static_cast<DeviceId>(i), Signal::kTensorActive, "dcgm.tensor");
    }
    audit_.Settle(Money::Cents(300));
  }
  // So many seconds at that value, of which the highest reading is the peak.
  void Read(std::size_t gpu, Signal signal, std::int64_t value, std::int64_t seconds, std::int64_t peak) {
    DeviceTotals& totals = audit_.report.run.devices[gpu].totals;
    (totals.*kMeasuredMean[Slot(signal)]).Add(seconds * kNanosPerSecond, value);
    SignalRange& range = totals.range[Slot(signal)];
    range.seconds.Add(value / SpreadStep(Info(signal).unit), seconds * kNanosPerSecond);
    range.peak = std::max(range.peak, peak);
  }
  [[nodiscard]] MeasuredSignal Row(std::string_view name) const {
    for (const MeasuredSignal& row : MeasuredOf(audit_.report)) {
      if (row.name == name && row.scope == "gpu") return row;
    }
    ADD_FAILURE() << name;
    return {};
  }
  [[nodiscard]] std::vector<std::string> Seen() const {
    std::vector<std::string> sentences;
    for (const Observation& o : ObservationsOf(audit_.report)) sentences.push_back(o.sentence);
    return sentences;
  }
  AuditFixture audit_;
};

TEST_F(MeasuredViewTest, AllGpusAreOneSpreadOfTime) {
  Read(0, Signal::kPower, 100'000, 94, 120'000);
  Read(0, Signal::kPower, 500'000, 6, 650'000);
  Read(1, Signal::kPower, 200'000, 50, 210'000);
  const MeasuredSignal row = Row("power.draw");
  EXPECT_DOUBLE_EQ(row.mean.value(), (94.0 * 100'000 + 6 * 500'000 + 50 * 200'000) / 150);
  EXPECT_EQ(row.p95.value(), 200'000);  // 144 of 150 s lie at or below
  EXPECT_EQ(row.peak.value(), 650'000);
  EXPECT_DOUBLE_EQ(row.coverage, 0.75);
  EXPECT_EQ(row.counters, std::vector<std::string>{"nvml.power.draw"});
}

TEST_F(MeasuredViewTest, WhatWasNotReadIsAbsentWithItsReason) {
  EXPECT_EQ(Row("sm_active").mean, std::nullopt);
  EXPECT_EQ(Row("sm_active").reason, "not_reported");
  EXPECT_EQ(Row("tensor_active").reason, "no_valid_value");
  audit_.report.run.devices[0].totals.range[Slot(Signal::kTemperature)].peak = 40'000;
  EXPECT_EQ(Row("temperature.gpu").reason, "no_time_covered");
  EXPECT_EQ(Row("temperature.gpu").peak, 40'000);
  audit_.report.run.devices[0].totals.utilization = audit_.report.run.devices[1].totals.utilization = {};
  audit_.report.run.devices[1].totals.utilization_stuck = true;
  EXPECT_EQ(Row("utilization.gpu").reason, "invalid_counter");
  const json report = json::parse(AuditJson(audit_.report));
  for (const json& signal : report["signals"]) {
    EXPECT_EQ(signal["mean"].is_null(), signal.contains("mean_reason")) << signal;
  }
}

TEST_F(MeasuredViewTest, EveryFormatSaysTheSame) {
  Read(0, Signal::kPower, 412'000, 100, 655'500);
  const json report = json::parse(AuditJson(audit_.report));
  const auto power = [](const json& signals) {
    return *std::find_if(signals.begin(), signals.end(), [](const json& s) { return s["signal"] == "power.draw"; });
  };
  const json whole = power(report["signals"]);
  EXPECT_EQ(whole["mean"], 412);
  EXPECT_EQ(whole["peak"], 655.5);
  EXPECT_EQ(whole["unit"], "W");
  EXPECT_EQ(whole["coverage"], 0.5);
  EXPECT_EQ(power(report["per_gpu"][0]["signals"])["coverage"], 1);
  EXPECT_TRUE(power(report["per_gpu"][1]["signals"])["mean"].is_null());
  for (const std::string& text :
       {AuditText(audit_.report, 120, false), AuditHtml(audit_.report), AuditMarkdown(audit_.report)}) {
    for (const char* part : {"What was measured", "power.draw", "412 W", "656 W", "50.0 %", "nvml.power.draw"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part;
    }
  }
  const std::string csv = AuditCsv(audit_.report);
  const std::size_t p95 = static_cast<std::size_t>(whole["p95"].get<double>());
  EXPECT_NE(csv.find(",nvml.power.draw,,,,,,,,power.draw,W,412," + std::to_string(p95) + ",655.5,1.000000\n"),
            std::string::npos)
      << csv;
}

// A table of the CSV stays a table: as many cells in every line.
TEST_F(MeasuredViewTest, EveryLineOfTheCsvHasAsManyCells) {
  Read(0, Signal::kPower, 412'000, 100, 655'500);
  HostSample sample;
  for (const int second : {0, 5}) {
    sample.time = Instant::FromNanos(second * kNanosPerSecond);
    sample.Set(HostSignal::kRdmaSent, second * 1000);
    audit_.report.live.statistics.Add(sample);
  }
  std::istringstream csv(AuditCsv(audit_.report));
  std::size_t lines = 0;
  for (std::string line; std::getline(csv, line); ++lines) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 20) << line;
  }
  EXPECT_EQ(lines, 1U + 2 * 5 + 3 + 1);  // header; phases and unobserved; utilization of both and power; the host
}

// Phases stand there for each run; what was measured once for each GPU, with the window of the whole log.
TEST_F(MeasuredViewTest, SignalsOfSeveralRunsStandOnceInTheCsv) {
  Read(0, Signal::kPower, 412'000, 100, 655'500);
  CostReport& cost = audit_.report.cost;
  const Instant start = audit_.report.run.start;
  cost.runs.resize(2);
  cost.runs[0].span = {start, start + Nanos(40 * kNanosPerSecond)};
  cost.runs[1].span = {start + Nanos(60 * kNanosPerSecond), audit_.report.run.end};
  for (CostReport::DeviceCost& device : cost.devices) device.runs = {{0, {}}, {1, {}}};
  std::istringstream csv(AuditCsv(audit_.report));
  std::size_t power = 0;
  std::size_t idle = 0;
  for (std::string line; std::getline(csv, line);) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 20) << line;
    idle += line.find(",idle,") != std::string::npos ? 1U : 0U;
    if (line.find(",power.draw,") == std::string::npos) continue;
    ++power;
    EXPECT_EQ(line.find("2026-07-02T14:00:00Z,2026-07-02T14:01:40Z,"), 0U) << line;
  }
  EXPECT_EQ(power, 1U);
  EXPECT_EQ(idle, 4U);
}

TEST_F(MeasuredViewTest, MemoryIsOfTheGpuThatUsedMost) {
  for (std::size_t gpu = 0; gpu < 2; ++gpu) {
    audit_.report.run.devices[gpu].totals.memory_total = 80 * kGibibyte;
  }
  Read(0, Signal::kMemoryUsed, 20 * kGibibyte, 100, 21 * kGibibyte);
  Read(1, Signal::kMemoryUsed, 70 * kGibibyte, 100, 72 * kGibibyte);
  audit_.report.peak_fits = {{"NVIDIA H100 80GB HBM3", 72 * kGibibyte, {}, 0, "none_fits"}};
  const json memory = json::parse(AuditJson(audit_.report))["memory"];
  ASSERT_EQ(memory.size(), 1U);
  EXPECT_EQ(memory[0]["mean_bytes"], 45 * kGibibyte);
  EXPECT_EQ(memory[0]["peak_bytes"], 72 * kGibibyte);
  EXPECT_EQ(memory[0]["peak_share"], 0.9);
  EXPECT_EQ(memory[0]["peak_on"], "GPU 1");
  EXPECT_NEAR(memory[0]["above_85_percent_gpu_hours"].get<double>(), 100.0 / 3600, 1e-9);
  EXPECT_EQ(memory[0]["fits_cheaper_reason"], "none_fits");
  ASSERT_EQ(Seen().size(), 1U);
  EXPECT_NE(Seen()[0].find("72 GiB of 80 GiB on GPU 1"), std::string::npos) << Seen()[0];
}

TEST_F(MeasuredViewTest, MemoryUpToTheLimitIsNoObservation) {
  audit_.report.run.devices[0].totals.memory_total = 80 * kGibibyte;
  Read(0, Signal::kMemoryUsed, 60 * kGibibyte, 100, 68 * kGibibyte);
  EXPECT_TRUE(Seen().empty());
}

TEST_F(MeasuredViewTest, ALinkIsSaturatedOnlyWhereItsSpeedIsKnown) {
  Read(0, Signal::kPcieRx, 12'800'000'000, 2, 13'000'000'000);
  Read(0, Signal::kPcieRx, 1'000'000'000, 98, 13'000'000'000);
  EXPECT_TRUE(Seen().empty());
  audit_.report.links = {{15'753'846'160, 0}, {15'753'846'160, 0}};  // gen 3 x16
  ASSERT_EQ(Seen().size(), 1U);
  EXPECT_NE(Seen()[0].find("PCIe to the GPU"), std::string::npos);
  EXPECT_NE(Seen()[0].find("2.0 % of the time"), std::string::npos) << Seen()[0];
  audit_.report.links = {{31'507'692'320, 0}, {0, 0}};
  EXPECT_TRUE(Seen().empty());
}

TEST_F(MeasuredViewTest, IdsStandInTheHeadOfEveryReport) {
  EXPECT_TRUE(json::parse(AuditJson(audit_.report))["ids"]["run"].is_null());
  audit_.report.ids = IdsOf({{"run.id", "0f3a"}, {"env.SLURM_JOB_ID", "4711"}, {"env.WANDB_PROJECT", "bert"}});
  const json ids = json::parse(AuditJson(audit_.report))["ids"];
  EXPECT_EQ(ids["run"], "0f3a");
  EXPECT_EQ(ids["job"], "4711");
  EXPECT_EQ(ids["experiment"], "bert");
  EXPECT_EQ(ids["named"][0], json({{"name", "SLURM_JOB_ID"}, {"value", "4711"}}));
  for (const std::string& text :
       {AuditText(audit_.report, 200, false), AuditHtml(audit_.report), AuditMarkdown(audit_.report)}) {
    const std::size_t at = text.find("run 0f3a, job 4711, experiment bert");
    EXPECT_LT(at, text.find("What was measured"));
  }
}

}  // namespace
}  // namespace idleburn
