#include "plan/plan_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/evidence.h"
#include "plan/gpu_rate.h"
#include "plan/memory.h"
#include "report/plan_errors.h"
#include "report/plan_output.h"
#include "support/documented_keys.h"

namespace idleburn {
// Whole reports. The changes that a report suggests are applied again here, to see that they suffice and that none of
// them is idle.

namespace {

PlanReport Report(PlanWords words) {
  const Result<PlannedRun> plan = ReadPlan(words);
  EXPECT_TRUE(plan) << plan.error().message;
  Result<PlanReport> report = MakePlan(ShippedCalibration(), *plan);
  EXPECT_TRUE(report);
  return std::move(*report);
}

PlanWords Full() {
  return {{"model", "llama-3.1-8b"}, {"seq_len", "4096"}, {"micro_batch", "4"}, {"gpu", "H100-80GB-SXM"}};
}

TEST(PlanReportTest, TheBreakdownIsTheLikelyPeak) {
  const PlanReport report = Report(Full());
  EXPECT_NEAR(report.parts.total() / report.memory.likely, 1, 1e-9);
  EXPECT_LT(report.memory.low, report.memory.likely);
  EXPECT_GT(report.memory.high, report.memory.likely);
}

// Both optimizers hold two fp32 moments, 8 bytes a parameter. Paged ones need only the room that the rest leaves, so
// the run fits less by them exactly where it is short; the peak that is printed holds them in full.
TEST(PlanReportTest, PagedStatesLeaveAFullGpu) {
  PlanWords words = {{"model", "llama-3.2-3b"}, {"precision", "bf16"}, {"seq_len", "1024"}, {"gpu", "A100-80GB-SXM"}};
  words["optimizer"] = "paged_adamw_32bit";
  const PlanReport paged = Report(words);
  const double states = 8 * CountParams(paged.plan.run.facts).total();
  EXPECT_NEAR(paged.memory.evictable / states, 1, 1e-9);
  EXPECT_GT(paged.memory.likely, states);
  Prediction held = paged.memory;
  held.evictable = 0;
  const double short_by = paged.memory.likely - states / 2;
  EXPECT_EQ(JudgeFit(held, short_by), MemoryFit::kNo);
  EXPECT_NE(JudgeFit(paged.memory, short_by), MemoryFit::kNo);
  // What is not paged stays, however full the GPU is.
  EXPECT_EQ(JudgeFit(paged.memory, 0.9 * (paged.memory.likely - states)), MemoryFit::kNo);
  words["optimizer"] = "adamw";
  EXPECT_EQ(Report(words).memory.evictable, 0);
}

// No low end is under what the run holds for sure, whatever is known of its framework.
TEST(PlanReportTest, NoLowEndIsUnderWeightsAndStates) {
  for (const char* framework : {"", "qwen", "torchtune", "a framework that nobody measured"}) {
    for (const char* method : {"full", "lora", "qlora"}) {
      for (const char* length : {"16", "4096"}) {
        PlanWords words = {{"model", "llama-3.1-8b"}, {"method", method}, {"seq_len", length}};
        if (*framework != 0) words["framework"] = framework;
        const PlanReport report = Report(words);
        const MemoryParts parts = PartsOf(report.plan.run.facts, report.plan.run.run);
        EXPECT_GE(report.memory.low, parts.weights + parts.optimizer + 0.47 * kGib) << framework << method << length;
      }
    }
  }
}

bool Warns(const PlanReport& report, const char* part) {
  return std::any_of(report.warnings.begin(), report.warnings.end(),
                     [&](const std::string& warning) { return warning.find(part) != std::string::npos; });
}

TEST(PlanReportTest, WhatIsNotModelledIsSaid) {
  EXPECT_FALSE(Warns(Report(Full()), "not modelled"));
  PlanWords words = Full();
  words["offload"] = "yes";
  EXPECT_TRUE(Warns(Report(words), "offload: idleburn models neither its host memory nor the time to move"));
  words = Full();
  words["gpu"] = "AMD Instinct MI250X";
  EXPECT_TRUE(Warns(Report(words), "a module of MI250X is --gpus 2"));
  words["gpu"] = "MI300X";
  EXPECT_FALSE(Warns(Report(words), "a module of"));
}

// What is offered fits, and without any one of its changes it would not.
TEST(PlanReportTest, TheChangeFitsAndNoneOfItIsIdle) {
  const PlanReport report = Report(Full());
  ASSERT_FALSE(report.changes.empty());
  for (const FitChange& change : report.changes) EXPECT_LE(change.memory.high, 0.97 * 79.65 * kGib);
  EXPECT_LE(report.changes.front().changes.size(), 3U);
  const PlanReport small = Report({{"model", "llama-3.2-1b"}, {"seq_len", "512"}, {"gpu", "H100-80GB-SXM"}});
  EXPECT_TRUE(small.changes.empty());
}

TEST(PlanReportTest, OneChangeIsPreferredToSeveral) {
  PlanWords words = Full();
  words["method"] = "lora";
  words["micro_batch"] = "1";
  const RunRow run = Report(words).plan.run;
  words["checkpointing"] = "full";
  const double enough = Report(words).memory.high / kUsableShare * 1.001;
  const std::vector<FitChange> changes = ChangesThatFit(ShippedCalibration(), run, enough);
  ASSERT_FALSE(changes.empty());
  bool checkpointing = false;
  for (const FitChange& change : changes) {
    EXPECT_EQ(change.changes.size(), 1U);
    EXPECT_LE(change.memory.high, kUsableShare * enough);
    checkpointing = checkpointing || change.changes.front() == "checkpointing full";
  }
  EXPECT_TRUE(checkpointing);
  // The cheapest in GPU-time comes first among those that learn the same.
  for (std::size_t i = 1; i < changes.size(); ++i) {
    if (changes[i].same_result) {
      EXPECT_LE(*changes[i - 1].gpu_time, 1.02 * *changes[i].gpu_time);
    }
    EXPECT_GE(changes[i - 1].same_result, changes[i].same_result);
  }
}

// litgpt's resource table: LoRA on Llama 2 7B runs on an A100 of 40 GB with 1 and 2 sequences, and not with 4. What a
// plan offers instead is sure to fit, the least change first.
TEST(PlanReportTest, ASmallerMicroBatchAsMeasured) {
  PlanWords words = {{"model", "llama-2-7b"},
                     {"method", "lora"},
                     {"seq_len", "1304"},
                     {"framework", "litgpt"},
                     {"gpu", "A100-40GB-SXM"}};
  const auto fit = [&](const char* micro_batch) {
    words["micro_batch"] = micro_batch;
    const Prediction memory = Report(words).memory;
    return JudgeFit(memory.likely, memory.high, RateOf("A100-40GB-SXM")->memory_gib * kGib);
  };
  EXPECT_EQ(fit("1"), MemoryFit::kFits);
  EXPECT_EQ(fit("2"), MemoryFit::kFits);
  EXPECT_EQ(fit("4"), MemoryFit::kNo);
  const PlanReport report = Report(words);
  const bool smaller = std::any_of(report.changes.begin(), report.changes.end(), [](const FitChange& change) {
    return change.changes == std::vector<std::string>{"micro-batch 2 with accumulation 2"};
  });
  EXPECT_TRUE(smaller);
}

// Qwen's study: int4 QLoRA on an A100 of 80 GB takes 11.5 G of 7B at 512 tokens, 27.9 at most of 14B, 61.4 of 72B.
TEST(PlanReportTest, MemoryAsQwenMeasured) {
  const auto likely = [](const char* model, const char* tokens) {
    return Report({{"model", model},
                   {"method", "qlora"},
                   {"rank", "64"},
                   {"seq_len", tokens},
                   {"checkpointing", "full"},
                   {"framework", "qwen"}})
               .memory.likely /
           kGib;
  };
  EXPECT_NEAR(likely("qwen-7b", "512") / 11.5, 1, 0.15);
  EXPECT_LT(likely("qwen-14b", "4096"), 27.9 * 1.1);
  EXPECT_NEAR(likely("qwen-72b", "512") / 61.4, 1, 0.15);
}

TEST(PlanReportTest, ImplausibleThroughputIsAWarning) {
  PlanWords words = {{"model", "llama-2-7b"}, {"method", "lora"}, {"seq_len", "1024"},   {"micro_batch", "2"},
                     {"accumulation", "4"},   {"gpu", "rtx4090"}, {"samples", "100000"}, {"epochs", "3"}};
  words["samples_per_min"] = "1100";
  const PlanReport report = Report(words);
  ASSERT_FALSE(report.warnings.empty());
  bool said = false;
  for (const std::string& warning : report.warnings) {
    // 4 N of the table's 6,738,149,376 parameters at 18,773.33 tokens/s.
    said = said || (warning.find("throughput target exceeds the roofline") != std::string::npos &&
                    warning.find("506 by the rule of thumb 4 N") != std::string::npos);
  }
  EXPECT_TRUE(said);
  EXPECT_NEAR(report.hours->likely, 50.0 / 11, 1e-9);
  EXPECT_DOUBLE_EQ(report.effective_batch, 8);
  EXPECT_NEAR(report.length->tokens_per_s, 18773.333, 0.001);
}

TEST(PlanReportTest, ACapThatDoesNotSufficeIsAWarning) {
  PlanWords words = {{"model", "llama-2-7b"},     {"method", "lora"},        {"seq_len", "1024"},
                     {"gpu", "A100-80GB-SXM"},    {"samples", "300000"},     {"epochs", "3"},
                     {"samples_per_min", "1200"}, {"budget_gpu_hours", "12"}};
  const PlanReport report = Report(words);
  EXPECT_NEAR(report.length->gpu_hours, 12.5, 1e-9);
  EXPECT_NEAR(report.cap->epochs, 2.88, 1e-9);
  EXPECT_NE(report.warnings.back().find("2 whole epochs fit"), std::string::npos) << report.warnings.back();
}

}  // namespace

// Forecasts beside what came. Errors of a month are small enough to work out by hand; runs are built as the history
// keeps them.

namespace {

JudgedForecast Judged(const std::string& run, const std::string& month, double forecast, double actual) {
  return {run, month, ForecastQuantity::kHours, {forecast, 0.9 * forecast, 1.1 * forecast}, actual};
}

// Errors of -10 %, 0, +10 %, +20 %, +100 %: by hand.
TEST(ForecastErrorTest, AMonthByHand) {
  std::vector<JudgedForecast> forecasts;
  for (const double forecast : {9.0, 10.0, 11.0, 12.0, 20.0}) {
    forecasts.push_back(Judged("run" + std::to_string(static_cast<int>(forecast)), "2026-11", forecast, 10));
  }
  const std::vector<MonthOfErrors> months = ErrorsByMonth(forecasts);
  ASSERT_EQ(months.size(), 1U);
  EXPECT_EQ(months[0].n, 5U);
  EXPECT_NEAR(*months[0].median, 0.1, 1e-12);
  EXPECT_NEAR(*months[0].bias, (-0.1 + 0 + 0.1 + 0.2 + 1) / 5, 1e-12);
  EXPECT_NEAR(*months[0].coverage, 2.0 / 5, 1e-12);  // 9: 8.1 to 9.9, 11: 9.9 to 12.1, 12: 10.8 to 13.2
  EXPECT_FALSE(months[0].p95) << "five runs have no 95th percentile";
  EXPECT_EQ(months[0].worst_run, "run20");
  EXPECT_NEAR(months[0].worst_error, 1, 1e-12);
}

TEST(ForecastErrorTest, FewRunsSayNothingInGeneral) {
  std::vector<JudgedForecast> forecasts(4, Judged("a", "2026-10", 9, 10));
  EXPECT_FALSE(ErrorsByMonth(forecasts)[0].median);
  EXPECT_FALSE(ErrorsByMonth(forecasts)[0].bias);
  EXPECT_FALSE(ErrorsByMonth(forecasts)[0].coverage);
  EXPECT_NEAR(ErrorsByMonth(forecasts)[0].worst_error, -0.1, 1e-12);
  forecasts.resize(20, Judged("a", "2026-10", 9, 10));
  EXPECT_NEAR(ErrorsByMonth(forecasts)[0].p95.value_or(0), 0.1, 1e-12);
  EXPECT_TRUE(ErrorsByMonth({}).empty());
}

TEST(ForecastErrorTest, MonthsAndQuantitiesStandApart) {
  JudgedForecast cost = Judged("c", "2026-11", 5, 4);
  cost.quantity = ForecastQuantity::kCost;
  const std::vector<JudgedForecast> forecasts = {Judged("a", "2026-10", 1, 1), cost, Judged("b", "2026-11", 1, 2)};
  const std::vector<MonthOfErrors> months = ErrorsByMonth(forecasts);
  ASSERT_EQ(months.size(), 3U);
  EXPECT_EQ(months[0].month, "2026-11");
  EXPECT_EQ(months[0].quantity, ForecastQuantity::kHours);
  EXPECT_NEAR(months[0].worst_error, -0.5, 1e-12);
  EXPECT_EQ(months[1].quantity, ForecastQuantity::kCost);
  EXPECT_EQ(months[2].month, "2026-10");
}

// A throughput that was stated has no interval to lie in.
TEST(ForecastErrorTest, AStatedFigureIsNoMatterOfCoverage) {
  JudgedForecast stated = Judged("a", "2026-11", 10, 10);
  stated.forecast.low = stated.forecast.high = 10;
  std::vector<JudgedForecast> forecasts(5, stated);
  EXPECT_FALSE(ErrorsByMonth(forecasts)[0].coverage);
  forecasts.resize(10, Judged("b", "2026-11", 20, 10));
  EXPECT_EQ(ErrorsByMonth(forecasts)[0].coverage.value_or(1), 0);
}

constexpr std::int64_t kStart = 1'763'755'200 * kNanosPerSecond;  // 2025-11-21T20:00:00Z

// Two GPUs, 100 steps of 8 sequences of 512 tokens in two hours: 4 GPU-hours at 2.50, as forecast and as it came.
HistoryRun LaunchedRun() {
  HistoryRun run;
  run.id = "aabbccdd00112233";
  run.state = RunState::kEnded;
  run.started = Instant::FromNanos(kStart);
  run.ended = run.started + Nanos(2 * kNanosPerHour);
  run.exit = "exit 0";
  run.figures.window_ns = 4 * kNanosPerHour;
  run.figures.currency = "USD";
  run.figures.cost_nano = 10'000'000'000;
  run.figures.work_unit = "step";
  run.figures.work = 100;
  run.figures.pace_ns = kNanosPerHour;
  run.figures.pace_steps = 60;
  run.figures.memory_peak = 20'000'000'000;
  KeptForecast forecast;
  forecast.plan = "gpu=RTX-4090;gpus=2;micro_batch=4;model=llama-2-7b;seq_len=512";
  forecast.basis = "probe of 2025-11-21: 20 + 20 steps";
  forecast.gpus = 2;
  forecast.tokens = 100 * 8 * 512;
  forecast.tokens_per_step = 8 * 512;
  forecast.sequence = 512;
  forecast.hours = 1.8;
  forecast.hours_low = 1.6;
  forecast.hours_high = 1.9;
  forecast.gpu_hours = 3.6;
  forecast.gpu_hours_low = 3.2;
  forecast.gpu_hours_high = 4.4;
  forecast.currency = "USD";
  forecast.cost_nano = 9'000'000'000;
  forecast.cost_low_nano = 8'000'000'000;
  forecast.cost_high_nano = 11'000'000'000;
  forecast.tokens_s = 30;
  forecast.tokens_s_low = 28;
  forecast.tokens_s_high = 33;
  forecast.memory = 21'000'000'000;
  run.forecast = forecast;
  return run;
}

double ActualOf(const ForecastOutcome& outcome, ForecastQuantity quantity) {
  return outcome.lines.at(static_cast<std::size_t>(quantity)).actual.value_or(-1);
}

TEST(ForecastOutcomeTest, EachFigureStandsBesideWhatCame) {
  const ForecastOutcome outcome = OutcomeOf(LaunchedRun());
  EXPECT_EQ(outcome.why_partial, "");
  EXPECT_NEAR(ActualOf(outcome, ForecastQuantity::kHours), 2, 1e-12);
  EXPECT_NEAR(ActualOf(outcome, ForecastQuantity::kGpuHours), 4, 1e-12);
  EXPECT_NEAR(ActualOf(outcome, ForecastQuantity::kCost), 10, 1e-12);
  // 60 steps of 4096 tokens in an hour on two GPUs.
  EXPECT_NEAR(ActualOf(outcome, ForecastQuantity::kTokensPerSecond), 60.0 * 4096 / 3600 / 2, 1e-9);
  const std::string text = PageText(OutcomePage(LaunchedRun()), 120, false);
  EXPECT_EQ(text.find("Forecast: 2 of 4 figures with a 90 % interval lie inside it"), 0U)
      << text;  // GPU-hours and cost
  EXPECT_NE(text.find("1.8 "), std::string::npos) << text;
  EXPECT_NE(text.find("$10.00"), std::string::npos) << text;
}

TEST(ForecastOutcomeTest, APartOfTheWorkIsNotComparedAsIfItWereAll) {
  HistoryRun half = LaunchedRun();
  half.figures.work = 50;
  EXPECT_EQ(OutcomeOf(half).why_partial, "the command did 50 % of the work planned");
  HistoryRun killed = LaunchedRun();
  killed.exit = "signal 9 (SIGKILL)";
  killed.figures.work = 30;
  const ForecastOutcome outcome = OutcomeOf(killed);
  EXPECT_EQ(outcome.why_partial, "the command ended with signal 9 (SIGKILL) after 30 % of the work planned");
  for (const ForecastLine& line : outcome.lines) {
    const bool rate = line.quantity == ForecastQuantity::kTokensPerSecond || line.quantity == ForecastQuantity::kMemory;
    EXPECT_EQ(line.comparable, rate) << Title(line.quantity);
  }
}

TEST(ForecastOutcomeTest, MoneyOfAnotherCurrencyIsNotCompared) {
  HistoryRun euros = LaunchedRun();
  euros.figures.currency = "EUR";
  EXPECT_EQ(ActualOf(OutcomeOf(euros), ForecastQuantity::kCost), -1);
}

TEST(PlanErrorsTest, MonthsAreThoseOfTheEnds) {
  std::vector<HistoryRun> runs(6, LaunchedRun());
  runs[5].ended = Instant::FromNanos(kStart + 15 * 24 * kNanosPerHour);  // December, and hours that are far off
  runs.push_back(LaunchedRun());
  runs.back().state = RunState::kInterrupted;
  runs.emplace_back();  // without a forecast
  const ForecastErrors errors = ErrorsOf(runs);
  EXPECT_EQ(errors.forecasts, 7U);
  EXPECT_EQ(errors.running, 1U);
  ASSERT_FALSE(errors.months.empty());
  EXPECT_EQ(errors.months.front().month, "2025-12");
  EXPECT_EQ(errors.months.front().n, 1U);
  EXPECT_FALSE(errors.months.front().median);
  const MonthOfErrors& hours = errors.months.at(kForecastQuantityCount);
  EXPECT_EQ(hours.month, "2025-11");
  EXPECT_NEAR(hours.median.value_or(0), 0.1, 1e-12);
  EXPECT_NEAR(hours.bias.value_or(0), -0.1, 1e-12);
  EXPECT_EQ(hours.coverage.value_or(1), 0);
  const std::string text = PageText(ForecastErrorsPage(errors), 140, false);
  EXPECT_NE(text.find("A cell with n has too few runs"), std::string::npos) << text;
  EXPECT_NE(text.find("n 5 of 20"), std::string::npos) << text;
  EXPECT_NE(PageMarkdown(ForecastErrorsPage(errors)).find("| 2025-11 | hours | 5 |"), std::string::npos);
  EXPECT_NE(ForecastErrorsCsv(errors).find("\n2025-11,hours,5,0.100000,,-0.100000,0.000000,-0.100000,aabbccdd"),
            std::string::npos)
      << ForecastErrorsCsv(errors);
}

TEST(PlanErrorsTest, NothingKeptSaysWhatToDo) {
  const std::string text = PageText(ForecastErrorsPage(ErrorsOf({})), 100, false);
  EXPECT_NE(text.find("Forecasts kept: 0"), std::string::npos);
  EXPECT_NE(text.find("plan --launch"), std::string::npos);
}

TEST(PlanErrorsTest, DocumentAndWriterAgree) {
  std::vector<HistoryRun> runs(20, LaunchedRun());
  runs[7].ended = Instant::FromNanos(kStart + 15 * 24 * kNanosPerHour);
  test::ExpectDocumented(
      "idleburn.forecast_errors/1",
      std::vector<std::string>{ForecastErrorsJson(ErrorsOf(runs)),
                               ForecastErrorsJson(ErrorsOf(std::vector<HistoryRun>(20, LaunchedRun())))});
}

TEST(PlanPastTest, WordsComeBackAndOutcomesAreNotKept) {
  const PlanWords words = {{"model", "a=b"}, {"seq_len", "512"}, {"tokens_per_s", "9"}};
  EXPECT_EQ(LineOfWords(words), "model=a=b;seq_len=512");
  EXPECT_EQ(WordsOfLine("model=a=b;seq_len=512;color=red;;x"), (PlanWords{{"model", "a=b"}, {"seq_len", "512"}}));
}

TEST(PlanPastTest, ForecastsAndTagsSayHowARunWasConfigured) {
  HistoryRun tagged = LaunchedRun();
  tagged.forecast.reset();
  tagged.figures.gpu_models = "NVIDIA GeForce RTX 4090";
  tagged.figures.gpus = 2;
  tagged.tags = {{"model", "llama-2-7b"}, {"seq_len", "512"}, {"micro_batch", "4"}, {"team", "x"}};
  HistoryRun nothing = tagged;
  nothing.tags.clear();
  const std::vector<RunReading> readings = ReadingsOf({LaunchedRun(), tagged, nothing});
  ASSERT_EQ(readings.size(), 2U);
  for (const RunReading& reading : readings) {
    EXPECT_NEAR(*reading.tokens_s, 60.0 * 8 * 512 / 3600 / 2, 1e-9);
    EXPECT_EQ(*reading.peak_bytes, 2e10);
    EXPECT_EQ(reading.row.run.gpus, 2);
  }
  HistoryRun brief = LaunchedRun();
  brief.figures.pace_ns = kNanosPerSecond;
  brief.figures.memory_peak.reset();
  EXPECT_TRUE(ReadingsOf({brief}).empty()) << "a second says nothing";
}

}  // namespace

}  // namespace idleburn
