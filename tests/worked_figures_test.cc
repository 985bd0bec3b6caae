// Figures that can be worked by hand, and the dollars of the trace with known truth, from the real program.
#include <gtest/gtest.h>

#include <cmath>

#include "support/program.h"
#include "support/read_inputs.h"
#include "support/smi_log.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::AuditJsonOf;
using testing::Shared;
using testing::SmiStamp;
using testing::TempFolder;

constexpr double kMicroDollar = 1e-6;

double Number(const json& money) { return std::stod(money.get<std::string>()); }

// A row every ten seconds of each GPU, whose utilisations are taken in turn; the last row only ends the one before.
std::string SmiLog(int gpus, std::int64_t seconds, const std::vector<int>& utilizations) {
  std::string text = "timestamp, index, utilization.gpu [%]\n";
  for (std::int64_t s = 0; s <= seconds; s += 10) {
    const int u = utilizations[static_cast<std::size_t>(s / 10) % utilizations.size()];
    for (int gpu = 0; gpu < gpus; ++gpu) {
      text += SmiStamp(s) + ", " + std::to_string(gpu) + ", " + std::to_string(u) + " %\n";
    }
  }
  return text;
}

TEST(WorkedFigures, EightGpusAtSixtyPercent) {
  const TempFolder folder;
  const std::string log = folder.Write("log.csv", SmiLog(8, 4500, {40, 80}));
  const json audit = AuditJsonOf(log + " --price 8 --work samples=200000");
  EXPECT_EQ(audit["gpu_hours"]["window"], 10);
  EXPECT_EQ(audit["gpu_hours"]["effective"], 6);
  EXPECT_EQ(audit["mean_utilization_percent"], 60);
  EXPECT_EQ(audit["cost"]["total"], "80.00");
  EXPECT_EQ(audit["cost"]["waste"], "32.00");
  EXPECT_EQ(audit["cost"]["per_effective_gpu_hour"], "13.33");
  EXPECT_EQ(audit["cost"]["per_effective_gpu_hour_exact"], "13.333333333");
  EXPECT_EQ(audit["cost"]["per_sample"], "0.0004");
  EXPECT_EQ(audit["phases"]["underutilized"]["percent"], 50);
  EXPECT_EQ(audit["phases"]["productive"]["percent"], 50);
}

TEST(WorkedFigures, NoBusyTimeHasNoPrice) {
  const TempFolder folder;
  const std::string log = folder.Write("log.csv", SmiLog(1, 3600, {0}));
  const json audit = AuditJsonOf(log + " --price 8");
  EXPECT_TRUE(audit["cost"]["per_effective_gpu_hour"].is_null());
  EXPECT_EQ(audit["cost"]["per_effective_gpu_hour_reason"], "undefined_no_busy_time");
  EXPECT_EQ(audit["cost"]["total"], "8.00");
  for (const char* format : {"text", "html", "markdown"}) {
    const std::string report =
        testing::RunIdleburn("audit --full --price 8 --format " + std::string(format) + " " + log).out;
    EXPECT_NE(report.find("undefined"), std::string::npos) << format;
    for (const char* infinity : {"infinity", "Infinity", "$inf", "nan,", "NaN"}) {
      EXPECT_EQ(report.find(infinity), std::string::npos) << format << " " << infinity;
    }
  }
}

TEST(WorkedFigures, AMonthHas720Hours) {
  const TempFolder folder;
  const std::string log = folder.Write("log.csv", SmiLog(1, 3600, {50}));
  const json cost = AuditJsonOf(log + " --price 4.00")["cost"];
  EXPECT_EQ(cost["hourly"], "4.00");
  EXPECT_EQ(cost["monthly"], "2880.00");
  EXPECT_EQ(cost["yearly"], "35040.00");
  EXPECT_EQ(cost["month_hours"], 720);
  EXPECT_EQ(AuditJsonOf(log + " --price 98.32")["cost"]["monthly"], "70790.40");
  EXPECT_EQ(AuditJsonOf(log + " --price 98.32 --month-hours 730")["cost"]["monthly"], "71773.60");
}

TEST(WorkedFigures, ShownShareAddUp) {
  const TempFolder folder;
  int number = 0;
  for (const std::vector<int>& utilizations :
       {std::vector<int>{0, 50, 100}, {0, 50, 75, 75, 95, 95, 95}, {5, 20, 20, 71, 99, 99}}) {
    const std::string name = "log" + std::to_string(number++) + ".csv";
    const auto seconds = static_cast<std::int64_t>(utilizations.size()) * 60;
    const json audit = AuditJsonOf(folder.Write(name, SmiLog(3, seconds, utilizations)) + " --price 2.49");
    std::int64_t hundredths = 0;
    std::int64_t cents = std::llround(Number(audit["unobserved"]["cost"]) * 100);
    for (const auto& [phase, part] : audit["phases"].items()) {
      hundredths += std::llround(part["percent"].get<double>() * 100);
      EXPECT_NEAR(part["percent"].get<double>() * 100, std::round(part["percent"].get<double>() * 100), 1e-6) << phase;
      cents += std::llround(Number(part["cost"]) * 100);
    }
    EXPECT_EQ(hundredths, 10000);
    EXPECT_EQ(cents, std::llround(Number(audit["cost"]["total"]) * 100));
  }
}

class TraceInDollars : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = Shared() / "data/telemetry/synthetic";
    REQUIRE_SHARED(folder / "smi_8gpu_10hz.csv.gz");
    truth_ = json::parse(testing::ReadText(folder / "truth.json"));
    audit_ = AuditJsonOf((folder / "smi_8gpu_10hz.csv.gz").string() + " --price 8");
  }

  [[nodiscard]] json Finding(const std::string& cause) const {
    for (const json& finding : audit_["findings"]) {
      if (finding["cause"] == cause) return finding;
    }
    return json::object();
  }

  json truth_;
  json audit_;
};

TEST_F(TraceInDollars, PhasesCostWhatTheTruthSays) {
  const json& total = truth_["total"];
  EXPECT_EQ(audit_["cost"]["total"], "16.00");
  for (const auto& [phase, usd] : total["usd_by_phase"].items()) {
    const json& part = phase == "unobserved" ? audit_["unobserved"] : audit_["phases"][phase];
    EXPECT_NEAR(Number(part["cost_exact"]), usd.get<double>(), kMicroDollar) << phase;
    EXPECT_NEAR(part["gpu_hours"].get<double>() * 3600, total["phase_seconds"][phase].get<double>(), 1e-6) << phase;
  }
  for (const auto& [phase, percent] : total["phase_pct_of_observed"].items()) {
    EXPECT_NEAR(audit_["phases"][phase]["percent"].get<double>(), percent.get<double>(), 0.01) << phase;
  }
  EXPECT_NEAR(audit_["gpu_hours"]["observed"].get<double>(), 6708 / 3600.0, 1e-9);
  EXPECT_NEAR(Number(audit_["cost"]["total_exact"]) - Number(audit_["unobserved"]["cost_exact"]),
              total["observed_usd"].get<double>(), kMicroDollar);
}

TEST_F(TraceInDollars, LabelsCostWhatTheTruthSays) {
  const json& usd = truth_["total"]["usd_by_label"];
  const json& cost = audit_["cost"];
  const double idle_held = Number(cost["idle_held_exact"]);
  const double spin_wait = Number(cost["spin_wait_exact"]);
  const double throttling = Number(Finding("throttling")["time_cost_exact"]);
  EXPECT_NEAR(idle_held, usd["idle_held"].get<double>(), kMicroDollar);
  EXPECT_NEAR(Number(cost["idle_empty_exact"]), usd["idle_empty"].get<double>(), kMicroDollar);
  EXPECT_NEAR(spin_wait, usd["spin_wait"].get<double>(), kMicroDollar);
  EXPECT_NEAR(throttling, usd["throttling"].get<double>(), kMicroDollar);
  const double bound = Number(audit_["phases"]["compute_bound"]["cost_exact"]);
  EXPECT_NEAR(bound - spin_wait - throttling, usd["compute_bound_real"].get<double>(), 2 * kMicroDollar);
  EXPECT_EQ(audit_["ticks"]["pattern"], "starved");
  EXPECT_NEAR(Number(Finding("unknown")["time_cost_exact"]), usd["starved"].get<double>(), kMicroDollar);
}

// What each cause wasted of its time, by the labels: idle GPUs did next to nothing, spinning ones nothing at all, and
// the short idle stretches without a process are what no cause explains.
TEST_F(TraceInDollars, CausesCostTheWasteInTheirTime) {
  const json& usd = truth_["total"]["usd_by_label"];
  const auto cost = [&](const json& finding) { return Number(finding["cost_exact"]); };
  const auto near = [&](double got, const char* label) {
    const double all = usd[label].get<double>();
    EXPECT_LE(got, all + kMicroDollar) << label;
    EXPECT_GE(got, 0.95 * all) << label;
  };
  near(cost(Finding("idle_held")), "idle_held");
  near(cost(Finding("spin_wait")), "spin_wait");
  double sum = 0;
  for (const json& f : audit_["findings"]) {
    if (!f["cost"].is_null()) sum += cost(f);
    if (f["title"] == "GPUs are under-used; no data on the cause") near(cost(f), "idle_empty");
  }
  EXPECT_LE(sum, Number(audit_["cost"]["waste_exact"]));
  EXPECT_GE(sum, 0.95 * Number(audit_["cost"]["waste_exact"])) << "little is left without a cause";
}

TEST_F(TraceInDollars, HoursAndEnergy) {
  EXPECT_NEAR(audit_["throttled_gpu_hours"].get<double>(), 0.596667, 5e-7);
  EXPECT_NEAR(audit_["throttled_with_clock_loss_gpu_hours"].get<double>(), 0.2, 1e-9);
  EXPECT_NEAR(audit_["spin_wait_gpu_hours"].get<double>(), 700 / 3600.0, 1e-9);
  EXPECT_NEAR(audit_["idle_held_gpu_hours"].get<double>(), 1380 / 3600.0, 1e-9);
  EXPECT_NEAR(audit_["idle_empty_gpu_hours"].get<double>(), 400 / 3600.0, 1e-9);
  EXPECT_EQ(audit_["idle_unknown_gpu_hours"], 0);
  // The truth has 24 readings more, of some 67,000, which the file masks.
  const double kwh = truth_["total"]["energy_kwh_observed_rows_before_masking"];
  EXPECT_NEAR(audit_["energy_kwh"].get<double>(), kwh, kwh * 1e-4);
  EXPECT_EQ(audit_["window"]["start"], "2026-09-01T00:00:00Z");
  EXPECT_EQ(audit_["window"]["end"], "2026-09-01T00:15:00Z");
}

TEST_F(TraceInDollars, EachGpu) {
  ASSERT_EQ(audit_["per_gpu"].size(), truth_["per_gpu"].size());
  double energy = 0;
  for (std::size_t i = 0; i < truth_["per_gpu"].size(); ++i) {
    const json& truth = truth_["per_gpu"][i];
    const json& gpu = audit_["per_gpu"][i];
    EXPECT_EQ(gpu["index"], truth["index"]);
    EXPECT_EQ(gpu["uuid"], truth["uuid"]);
    for (const auto& [phase, usd] : truth["usd_by_phase"].items()) {
      const json& part = phase == "unobserved" ? gpu["unobserved"] : gpu["phases"][phase];
      EXPECT_NEAR(Number(part["cost_exact"]), usd.get<double>(), kMicroDollar) << i << " " << phase;
    }
    const json& labels = truth["label_seconds"];
    EXPECT_NEAR(gpu["spin_wait_gpu_hours"].get<double>() * 3600, labels["spin_wait"].get<double>(), 1e-6);
    EXPECT_NEAR(gpu["idle_held_gpu_hours"].get<double>() * 3600, labels["idle_held"].get<double>(), 1e-6);
    EXPECT_NEAR(gpu["idle_empty_gpu_hours"].get<double>() * 3600, labels["idle_empty"].get<double>(), 1e-6);
    EXPECT_NEAR(gpu["throttled_with_clock_loss_gpu_hours"].get<double>() * 3600, labels["throttling"].get<double>(),
                1e-6);
    energy += gpu["energy_kwh"].get<double>();
  }
  EXPECT_NEAR(energy, audit_["energy_kwh"].get<double>(), 1e-9);
}

}  // namespace
}  // namespace idleburn
