// The trap cases of data/traps that this stage answers: inputs on which plain tools give a wrong answer. Each test
// maps the answer names of its case.json to the product's output.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "price/cost_report.h"
#include "price/resolve.h"
#include "recommend/advice.h"
#include "support/advice_on.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/smi_log.h"
#include "tco/actual_bill.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using testing::MustRead;
using testing::ReadText;
using testing::Shared;

// Adds to `into` what the traps read of a device.
void AddRead(const DeviceTotals& from, DeviceTotals& into) {
  const auto add = [](auto& to, const auto& more) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
  };
  add(into.phase_ns, from.phase_ns);
  add(into.unobserved_ns, from.unobserved_ns);
  add(into.ticks, from.ticks);
  add(into.reason_ns, from.reason_ns);
  for (const auto mean : {&DeviceTotals::utilization, &DeviceTotals::burst, &DeviceTotals::gr_engine,
                          &DeviceTotals::power, &DeviceTotals::nvlink_readings}) {
    (into.*mean).Merge(from.*mean);
  }
  into.profiling_stuck = into.profiling_stuck || from.profiling_stuck;
  into.throttled_ns += from.throttled_ns;
  into.energy_mj += from.energy_mj;
  into.energy_resets += from.energy_resets;
}

class Trap {
 public:
  explicit Trap(const std::string& name) : folder_(Shared() / "data/traps" / name) {
    if (std::filesystem::exists(folder_)) case_ = nlohmann::json::parse(ReadText(folder_ / "case.json"));
  }
  [[nodiscard]] std::filesystem::path folder() const { return folder_; }
  [[nodiscard]] double Param(const char* name) const { return case_["params"][name].get<double>(); }

  // Checks a number by the case's own tolerance.
  void Expect(const char* answer, double got) const {
    const nlohmann::json& right = case_["right"][answer];
    ASSERT_FALSE(right.is_null()) << answer;
    const double value = right["value"].get<double>();
    EXPECT_NEAR(got, value, right["tol"].get<double>() + 1e-9 * std::fabs(value)) << answer;
  }
  void Expect(const char* answer, const nlohmann::json& got) const {
    EXPECT_EQ(got, case_["right"][answer]["equals"]) << answer;
  }

  void Read(const char* file, Thresholds thresholds = {}) {
    if (case_["params"].contains("idle_power_w"))
      thresholds.idle_power = static_cast<std::int64_t>(Param("idle_power_w") * 1000);
    thresholds_ = thresholds;
    inputs = MustRead({(folder_ / file).string()}, thresholds_);
    totals = {};
    window_ns = 0;
    spin_ns = 0;
    for (const DeviceResult& d : inputs->run.devices) {
      AddRead(d.totals, totals);
      window_ns += d.WindowNs();
      spin_ns += d.spin.time.ns;
    }
  }
  CostReport Price() const {
    Rate rate;
    rate.kind = RateKind::kGiven;
    rate.per_gpu_hour = Money::Nano(static_cast<std::int64_t>(std::llround(Param("price_usd_per_gpu_hour") * 1e9)));
    auto cost = PriceRun(inputs->run, inputs->devices, inputs->owners, rate, {}, {}, 720);
    EXPECT_TRUE(cost.has_value()) << (cost ? "" : cost.error().message);
    return cost.value_or(CostReport{});
  }
  [[nodiscard]] double Seconds(Phase p) const {
    return static_cast<double>(totals.phase_ns[static_cast<std::size_t>(p)]) / 1e9;
  }
  [[nodiscard]] double MeanPercent() const { return totals.utilization.Mean().value_or(-1) / kPercent; }
  [[nodiscard]] double Share(Phase p) const { return Seconds(p) * 1e9 / static_cast<double>(totals.ObservedNs()); }
  [[nodiscard]] std::int64_t Ticks() const {
    return totals.ticks[0] + totals.ticks[1] + totals.ticks[2] + totals.ticks[3];
  }
  [[nodiscard]] double BurstIndex() const {
    const auto n = static_cast<double>(Ticks());
    return 4 * static_cast<double>(totals.ticks[0]) / n * static_cast<double>(totals.ticks[3]) / n;
  }

  std::shared_ptr<RunInputs> inputs;
  DeviceTotals totals;
  std::int64_t window_ns = 0;
  std::int64_t spin_ns = 0;

 private:
  std::filesystem::path folder_;
  nlohmann::json case_;
  Thresholds thresholds_;
};

double Amount(const std::optional<Money>& money) { return money ? static_cast<double>(money->nano()) / 1e9 : -1; }

std::string LogOfAnHour(int gpus) {
  std::string text = "timestamp, index, utilization.gpu [%]\n";
  for (std::int64_t s = 0; s <= 3600; s += 10) {
    for (int gpu = 0; gpu < gpus; ++gpu) text += testing::SmiStamp(s) + ", " + std::to_string(gpu) + ", 80 %\n";
  }
  return text;
}

#define TRAP(variable, name) \
  Trap variable(name);       \
  REQUIRE_SHARED(variable.folder())

TEST(TrapTest, OversampledGauge) {
  TRAP(trap, "01_oversampled_gauge");
  trap.Read("nvidia_smi.csv");
  trap.Expect("published_readings", static_cast<double>(trap.Ticks()));
  trap.Expect("mean_util_pct", trap.MeanPercent());
  const nlohmann::json ticks = testing::AuditJsonOf((trap.folder() / "nvidia_smi.csv").string())["ticks"];
  trap.Expect("published_readings", ticks["count"].get<double>());
  trap.Expect("se_mean_pp", ticks["standard_error_pp"].get<double>());
  // By how much one from all rows would be too small.
  trap.Expect("se_understated_factor", std::sqrt(ticks["rows"].get<double>() / ticks["count"].get<double>()));
}

TEST(TrapTest, SquareWaveThroughAFastGauge) {
  TRAP(trap, "02_square_wave_fast_gauge");
  trap.Read("nvidia_smi.csv");
  trap.Expect("mean_util_pct", trap.MeanPercent());
  trap.Expect("grid_1s_underutilized_fraction", trap.Share(Phase::kUnderutilized));
  trap.Expect("grid_1s_idle_fraction", trap.Share(Phase::kIdle));
  trap.Expect("burst_index", trap.BurstIndex());
  trap.Expect("tick_idle_fraction", static_cast<double>(trap.totals.ticks[0]) / static_cast<double>(trap.Ticks()));
  EXPECT_GT(static_cast<double>(trap.totals.burst.ns), 0.9 * static_cast<double>(trap.totals.ObservedNs()));
  trap.Expect("pattern",
              testing::AuditJsonOf((trap.folder() / "nvidia_smi.csv").string())["per_gpu"][0]["ticks"]["pattern"]);
}

TEST(TrapTest, AGapIsNotIdle) {
  TRAP(trap, "03_gap_is_not_idle");
  trap.Read("scrapes.prom");
  trap.Expect("compute_bound_s", trap.Seconds(Phase::kComputeBound));
  trap.Expect("idle_s", trap.Seconds(Phase::kIdle));
  trap.Expect("unobserved_s", static_cast<double>(trap.totals.UnobservedNs()) / 1e9);
  trap.Expect("total_s", static_cast<double>(trap.window_ns) / 1e9);
  trap.Expect("unobserved_cost_usd", Amount(trap.Price().whole.unobserved_cost));
}

TEST(TrapTest, IntegerSentinels) {
  TRAP(trap, "04_integer_sentinels");
  trap.Read("scrapes.prom");
  trap.Expect("mean_util_pct", trap.MeanPercent());
  trap.Expect("unobserved_s", static_cast<double>(trap.totals.UnobservedNs()) / 1e9);
  trap.Expect("compute_bound_s", trap.Seconds(Phase::kComputeBound));
  trap.Expect("underutilized_s", trap.Seconds(Phase::kUnderutilized));
}

TEST(TrapTest, RatioThatIsPercent) {
  TRAP(trap, "05_ratio_that_is_percent");
  trap.Read("scrapes.prom");
  trap.Expect("mean_util_pct", trap.MeanPercent());
  trap.Expect("idle_fraction", trap.Share(Phase::kIdle));
  trap.Expect("compute_bound_fraction", trap.Share(Phase::kComputeBound));
  trap.Expect("gr_engine_pct", trap.totals.gr_engine.Mean().value_or(-1) / kPercent);
}

TEST(TrapTest, ProfilingFieldStuckAtZero) {
  TRAP(trap, "06_profiling_field_stuck_at_zero");
  trap.Read("scrapes.prom");
  trap.Expect("profiling_field_valid", nlohmann::json(!trap.totals.profiling_stuck));
  trap.Expect("mean_util_pct", trap.MeanPercent());
  trap.Expect("idle_s", trap.Seconds(Phase::kIdle));
  trap.Expect("idle_cost_usd", Amount(trap.Price().whole.phase_cost[0]));
  EXPECT_EQ(trap.inputs->quality.CountOf(QualityId::kInvalidProfilingCounter), 1);
}

TEST(TrapTest, CollectiveSpin) {
  TRAP(trap, "07_collective_spin");
  trap.Read("scrapes.prom");
  trap.Expect("spin_wait_gpu_s", static_cast<double>(trap.spin_ns) / 1e9);
  const CostReport cost = trap.Price();
  trap.Expect("spin_wait_cost_usd", Amount(cost.whole.spin_wait_cost));
  const Advice advice = testing::AdviceOn({trap.inputs->run, trap.inputs->devices, cost});
  ASSERT_FALSE(advice.findings.empty());
  trap.Expect("cause", nlohmann::json(advice.findings.front().cause));
  bool precision = false;
  for (const Recommendation& r : advice.recommendations)
    precision = precision || r.id == "mixed_precision" || r.id == "fp8";
  trap.Expect("advise_precision_change", nlohmann::json(precision));
}

TEST(TrapTest, TwoJobsOnOneGpu) {
  TRAP(trap, "08_two_jobs_one_gpu");
  trap.Read("scrapes.prom");
  trap.Expect("device_util_pct", trap.MeanPercent());
  const CostReport cost = trap.Price();
  trap.Expect("gpu_hours", static_cast<double>(cost.whole.window_ns) / 3.6e12);
  trap.Expect("cost_usd", Amount(cost.whole.total));
  ASSERT_EQ(cost.owners.size(), 2U);
  for (const auto& owner : cost.owners) {
    trap.Expect("per_job_cost_usd", Amount(owner.cost));
    EXPECT_TRUE(owner.estimated);
  }
}

TEST(TrapTest, TimeSlicedPods) {
  TRAP(trap, "09_time_sliced_pods");
  trap.Read("scrapes.prom");
  ASSERT_EQ(trap.inputs->run.devices.size(), 1U);
  trap.Expect("busy_gpus", trap.MeanPercent() / 100);
  const auto shares = trap.inputs->owners.SharesOf(trap.inputs->run.devices[0].device);
  ASSERT_EQ(shares.size(), 3U);
  for (const auto& share : shares) {
    trap.Expect("per_pod_estimate", trap.MeanPercent() / 100 * share.fraction);
    EXPECT_TRUE(share.estimated);
  }
}

TEST(TrapTest, MigRepeatsBoardPower) {
  TRAP(trap, "10_mig_repeats_board_power");
  trap.Read("scrapes.prom");
  trap.Expect("power_w", trap.totals.power.Mean().value_or(-1) / 1000);
  Rate none;
  none.reason = "no_price";
  const CostReport cost =
      PriceRun(trap.inputs->run, trap.inputs->devices, trap.inputs->owners, none, {}, {}, 720).value();
  trap.Expect("energy_kwh", cost.whole.energy_kwh.value_or(-1));
}

TEST(TrapTest, OneSliceOfSeven) {
  TRAP(trap, "11_one_slice_of_seven");
  trap.Read("scrapes.prom");
  const CostReport cost = trap.Price();
  ASSERT_EQ(cost.devices.size(), 2U);  // the board, with what is unallocated, and the slice
  const auto& slice = cost.devices[trap.inputs->devices[cost.devices[0].device].mig ? 0 : 1];
  trap.Expect("job_util_pct", slice.usage.mean_utilization.value_or(-1));
  const double hours = static_cast<double>(cost.whole.window_ns) / 3.6e12;
  trap.Expect("job_cost_usd", (Amount(cost.whole.total) - Amount(cost.whole.unallocated_cost)) / hours);
  trap.Expect("unallocated_cost_usd", Amount(cost.whole.unallocated_cost) / hours);
  trap.Expect("busy_share_of_gpu", cost.whole.effective_ns / static_cast<double>(cost.whole.window_ns));
}

TEST(TrapTest, CounterThatIsARate) {
  TRAP(trap, "12_counter_that_is_a_rate");
  trap.Read("scrapes.prom");
  trap.Expect("resets", static_cast<double>(trap.inputs->quality.CountOf(QualityId::kCounterReset)));
  EXPECT_GT(trap.inputs->quality.CountOf(QualityId::kMislabelledCounter), 0);
  trap.Expect("mean_bytes_per_s", trap.totals.nvlink_readings.Mean().value_or(-1));
}

TEST(TrapTest, EnergyCounterRestart) {
  TRAP(trap, "13_energy_counter_restart");
  trap.Read("scrapes.prom");
  trap.Expect("energy_j", static_cast<double>(trap.totals.energy_mj) / 1000);
  trap.Expect("resets", static_cast<double>(trap.totals.energy_resets));
}

TEST(TrapTest, ReasonBits) {
  TRAP(trap, "14_reason_bits");
  trap.Read("nvidia_smi.csv");
  const auto reason = [&](std::size_t bit) { return static_cast<double>(trap.totals.reason_ns[bit]) / 1e9; };
  trap.Expect("throttled_s", static_cast<double>(trap.totals.throttled_ns) / 1e9);
  trap.Expect("sw_power_cap_s", reason(2));
  trap.Expect("hw_thermal_s", reason(6));
  trap.Expect("hw_power_brake_s", reason(7));
  trap.Expect("idle_reason_s", reason(0));
}

TEST(TrapTest, WallClockStepsBack) {
  TRAP(trap, "15_wall_clock_steps_back");
  trap.Read("samples.jsonl");
  trap.Expect("duration_s", static_cast<double>(trap.window_ns) / 1e9);
  trap.Expect("productive_s", trap.Seconds(Phase::kProductive));
  trap.Expect("clock_step_intervals", static_cast<double>(trap.inputs->quality.CountOf(QualityId::kClockStep)));
  trap.Expect("unobserved_clock_s",
              static_cast<double>(trap.totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kClock)]) / 1e9);
}

// What is read of a bill without a doubt is a number as FOCUS writes it.
bool IsFocusNumber(const std::string& text) {
  StringSource in("ChargePeriodStart,ServiceCategory,EffectiveCost\n2026-07-03T00:00:00Z,Compute,\"" + text + "\"\n",
                  "bill.csv");
  const Result<ActualBill> bill = ReadActuals(in, TcoPlan());
  return bill && bill->not_focus == 0;
}

TEST(TrapTest, ExactMoney) {
  TRAP(trap, "21_exact_money");
  const nlohmann::json input = nlohmann::json::parse(ReadText(trap.folder() / "input.json"));
  const auto money = [](const nlohmann::json& text) { return Money::Parse(text.get<std::string>()).value(); };
  const std::vector<std::int64_t> equal(input["split"]["parts"].get<std::size_t>(), 1);
  const std::vector<Money> split = Split(money(input["split"]["total"]), equal, kCent).value();
  nlohmann::json parts;
  for (const Money part : split) parts.push_back(FormatMoney(part, 2));
  trap.Expect("parts", parts);
  nlohmann::json rounded;
  for (const nlohmann::json& text : input["round_half_even_2dp"]) rounded.push_back(FormatMoney(money(text), 2));
  trap.Expect("rounded", rounded);
  nlohmann::json valid;
  for (const std::string text : input["focus_numeric"]) {
    if (IsFocusNumber(text)) valid.push_back(text);
  }
  trap.Expect("focus_valid", valid);
  const testing::TempFolder folder;
  const std::string log = folder.Write("log.csv", LogOfAnHour(1));
  const std::string flags = " --price " + input["hourly"].get<std::string>() + " --month-hours ";
  const nlohmann::json audit = testing::AuditJsonOf(log + flags + input["month_hours"].dump());
  trap.Expect("monthly", audit["cost"]["monthly"]);
}

TEST(TrapTest, RatioOfSums) {
  TRAP(trap, "23_ratio_of_sums");
  // Both jobs of 100.00 are a GPU for an hour at 100 an hour.
  std::int64_t samples = 0;
  int jobs = 0;
  std::string line;
  std::ifstream rows(trap.folder() / "jobs.csv");
  for (std::getline(rows, line); std::getline(rows, line); ++jobs) {
    ASSERT_NE(line.find(",100.00,"), std::string::npos) << line;
    samples += std::stoll(line.substr(line.rfind(',') + 1));
  }
  ASSERT_EQ(jobs, 2);
  const testing::TempFolder folder;
  const std::string log = folder.Write("log.csv", LogOfAnHour(jobs));
  const nlohmann::json audit = testing::AuditJsonOf(log + " --price 100 --work samples=" + std::to_string(samples));
  trap.Expect("cost_per_sample_usd", std::stod(audit["cost"]["per_sample_exact"].get<std::string>()));
}

}  // namespace
}  // namespace idleburn
