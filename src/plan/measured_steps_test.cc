#include "plan/measured_steps.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "plan/plan_report.h"
#include "support/predicted.h"

namespace idleburn {
namespace {

// Lines that are known, the formulas of two points written out by hand, and laws: what lies on a line is found again,
// and nothing is more certain far from the measured sizes.

StepLine LineOf(std::string_view text) {
  Result<std::vector<MeasuredStep>> points = ReadMeasuredSteps("micro_batch", text);
  EXPECT_TRUE(points) << points.error().message;
  Result<StepLine> line = FitSteps(std::move(*points));
  EXPECT_TRUE(line) << line.error().message;
  return std::move(*line);
}

std::string Refusal(std::string_view text) {
  Result<std::vector<MeasuredStep>> points = ReadMeasuredSteps("micro_batch", text);
  if (!points) return points.error().message;
  const Result<StepLine> line = FitSteps(std::move(*points));
  return line ? "none" : line.error().message;
}

TEST(MeasuredStepsTest, ATimeCarriesItsRounding) {
  const std::pair<const char*, MeasuredStep> times[] = {{"0.182s", {0, 0.182, 0.001}}, {"182ms", {0, 0.182, 0.001}},
                                                        {" 1.70 s", {0, 1.7, 0.01}},   {"36s", {0, 36, 1}},
                                                        {"1.5min", {0, 90, 6}},        {"250us", {0, 250e-6, 1e-6}}};
  for (const auto& [text, expected] : times) {
    const Result<MeasuredStep> step = ReadStepTime(text);
    ASSERT_TRUE(step) << text;
    EXPECT_NEAR(step->seconds, expected.seconds, 1e-12) << text;
    EXPECT_NEAR(step->rounding, expected.rounding, 1e-12) << text;
  }
  const Result<std::vector<MeasuredStep>> spread = ReadMeasuredSteps("seq_len", "4k=911ms+-6ms/9");
  ASSERT_TRUE(spread) << spread.error().message;
  EXPECT_EQ(spread->front().size, 4096);
  EXPECT_NEAR(spread->front().scatter, 0.006, 1e-12);
  EXPECT_EQ(spread->front().steps, 9);
}

// 0.1 s and 0.2 ms for each: 512 takes 0.2024 s, 4096 takes 0.9192 s, and 2048 takes 0.5096 s.
TEST(MeasuredStepsTest, TwoPointsGiveTheirLine) {
  const StepLine line = LineOf("4096=0.9192s,512=0.2024s");
  EXPECT_NEAR(line.fixed.likely, 0.1, 1e-12);
  EXPECT_NEAR(line.slope.likely, 0.0002, 1e-15);
  EXPECT_NEAR(line.worst_residual, 0, 1e-12);
  EXPECT_NEAR(StepSecondsAt(line, 2048).likely, 0.5096, 1e-12);
  EXPECT_TRUE(line.Measured(512) && line.Measured(4096) && !line.Measured(4097));
}

// The variance of two points by its published formula: ((x2 - x) s1)^2 / (x2 - x1)^2 + ((x - x1) s2)^2 / (x2 - x1)^2,
// with s^2 = d^2 / 12 + scatter^2 / steps, and 5 % of each time at 90 %; the law is off by 19 % besides.
TEST(MeasuredStepsTest, TheIntervalOfTwoPointsByHand) {
  const double z = 1.6449;
  const double x1 = 100;
  const double x2 = 300;
  const double t1 = 1.0;
  const double t2 = 2.4;
  const auto variance = [&](double t, double d, double scatter, double steps) {
    return d * d / 12 + scatter * scatter / steps + std::pow(0.05 / z * t, 2);
  };
  const double v1 = variance(t1, 0.1, 0.2, 4);
  const double v2 = variance(t2, 0.1, 0, 1);
  const StepLine line = LineOf("100=1.0s+-0.2s/4,300=2.4s");
  for (const double x : {400.0, 900.0}) {
    const double sigma = std::sqrt(std::pow((x2 - x) / (x2 - x1), 2) * v1 + std::pow((x - x1) / (x2 - x1), 2) * v2);
    const LikelyRange step = StepSecondsAt(line, x);
    EXPECT_NEAR(step.likely, 0.3 + 0.007 * x, 1e-9);
    EXPECT_NEAR(step.high / step.likely - 1, std::hypot(z * sigma / step.likely, 0.19), 1e-9);
    EXPECT_GE(step.low, step.likely * step.likely / step.high - 1e-9);
  }
}

// More points: the normal equations with equal weights, solved by hand for (1, 1.0), (2, 2.1), (3, 2.9): a 0.1, b 0.95.
TEST(MeasuredStepsTest, ThreePointsAreFittedAndTheWorstIsSaid) {
  const StepLine line = LineOf("1=1.0s,2=2.1s,3=2.9s");
  EXPECT_NEAR(line.fixed.likely, 0.1, 1e-9);
  EXPECT_NEAR(line.slope.likely, 0.95, 1e-9);
  EXPECT_EQ(line.worst_size, 2);
  EXPECT_NEAR(line.worst_residual, 2.1 / 2.0 - 1, 1e-9);
  // A time of many digits weighs more than one of few: the line passes by the exact points.
  const StepLine weighed = LineOf("1=1.000s,2=3s,3=3.000s");
  EXPECT_NEAR(weighed.At(1), 1, 1e-3);
  EXPECT_NEAR(weighed.At(3), 3, 1e-3);
}

// Times that grow faster than their size would give a negative fixed cost.
TEST(MeasuredStepsTest, NoFixedCostIsNegative) {
  const StepLine line = LineOf("2048=8.4s,4096=17.0s");
  EXPECT_EQ(line.fixed.likely, 0);
  EXPECT_NEAR(line.slope.likely, (2048 * 8.4 + 4096 * 17.0) / (2048.0 * 2048 + 4096.0 * 4096), 1e-9);
  EXPECT_EQ(line.fixed.low, 0);
  const LikelyRange small = StepSecondsAt(line, 16);
  EXPECT_GT(small.low, 0);
  EXPECT_GT(small.high, small.likely);
}

RC_GTEST_PROP(MeasuredStepsTest, APointOfTheLineIsFoundAndFarIsLessCertain, ()) {
  const double a = *rc::gen::inRange(0, 1000) / 1e3;
  const double b = *rc::gen::inRange(1, 1000) / 1e5;
  const double x1 = *rc::gen::inRange(1, 1000);
  const double x2 = x1 + *rc::gen::inRange(100, 5000);
  const double x3 = x2 + *rc::gen::inRange(1, 5000);
  const auto step = [&](double x) { return MeasuredStep{x, a + b * x, 1e-6}; };
  if (step(x2).seconds <= step(x1).seconds) return;
  const Result<StepLine> line = FitSteps({step(x2), step(x1), step(x3)});
  RC_ASSERT(line.has_value());
  double width = 0;
  for (const double x : {x3, x3 * 2, x3 * 8}) {
    const LikelyRange at = StepSecondsAt(*line, x);
    RC_ASSERT(std::abs(at.likely / (a + b * x) - 1) < 1e-6);
    RC_ASSERT(at.low > 0 && at.low <= at.likely && at.likely <= at.high);
    RC_ASSERT(at.high / at.likely - 1 >= width - 1e-9);
    width = at.high / at.likely - 1;
  }
  for (const double x : {x1 / 8, (x1 + x2) / 2}) {
    const LikelyRange at = StepSecondsAt(*line, x);
    RC_ASSERT(at.low > 0 && at.low <= at.likely && at.likely <= at.high);
  }
}

TEST(MeasuredStepsTest, WhatSaysNothingIsOneClearLine) {
  const std::pair<const char*, const char*> wrong[] = {
      {"512=0.182s", "one size says nothing of another"},
      {"512=0.182s,512=0.9s", "size 512 is given twice"},
      {"512=0.9s,4096=0.1s", "the time falls from size 512 to 4096"},
      {"512=1.4s,1024=1.4s", "take the same time"},
      {"512=0s,4096=1s", "the time 0s is not above 0"},
      {"0=1s,4096=2s", "is not above 0"},
      {"512=0.182,4096=0.9", "'0.182' is not a time; write 182ms or 0.182s"},
      {"512=3 parsecs,4096=9s", "is not a time"},
      {"512=-1s,4096=9s", "is not a time"},
      {"512=1e3s,4096=9s", "is not a time"},
      {"512:1s,4096=9s", "is not SIZE=TIME"},
      {"512=1s,,4096=9s", "is not SIZE=TIME"},
      {"512=1s+-0s,4096=9s", "is not above 0"},
  };
  for (const auto& [text, says] : wrong) {
    const std::string refusal = Refusal(text);
    EXPECT_NE(refusal.find(says), std::string::npos) << text << ": " << refusal;
    EXPECT_EQ(refusal.find('\n'), std::string::npos);
  }
}

PlannedRun PlanOf(const PlanWords& words) {
  Result<PlannedRun> plan = ReadPlan(words);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? std::move(*plan) : PlannedRun();
}

// 10,000 steps of 64 samples at 0.5096 s each are 1.4156 h, with a model and without.
TEST(MeasuredPlanTest, TheTimeFollowsTheStep) {
  PlanWords words = {{"measured", "512=0.2024s,4096=0.9192s"},
                     {"seq_len", "2048"},
                     {"samples", "640000"},
                     {"global_batch", "64"},
                     {"gpus", "8"}};
  const Result<PlanReport> report = MakePlan(ShippedCalibration(), PlanOf(words));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NEAR(report->hours->likely, 10000 * 0.5096 / 3600, 1e-9);
  EXPECT_LT(report->hours->low, report->hours->likely);
  EXPECT_GT(report->hours->high, report->hours->likely);
  words.insert({{"model", "llama-3.1-8b"}, {"method", "lora"}, {"gpu", "H100-80GB-SXM"}});
  const Result<PlanReport> modelled = MakePlan(ShippedCalibration(), PlanOf(words));
  ASSERT_TRUE(modelled) << modelled.error().message;
  EXPECT_NEAR(modelled->hours->likely, report->hours->likely, 1e-9);
  EXPECT_NEAR(modelled->hours->high, report->hours->high, 1e-9);
}

TEST(MeasuredPlanTest, SizesAreWhatTheyAreSaidToBe) {
  const PlannedRun batch = PlanOf(
      {{"measured", "1=100ms,8=450ms"}, {"measured_by", "micro_batch"}, {"micro_batch", "4"}, {"samples", "1000"}});
  EXPECT_NEAR(batch.measured->seconds.likely, 0.25, 1e-9);
  const PlannedRun tokens = PlanOf({{"measured", "8k=1s,32k=2s"},
                                    {"measured_by", "step-tokens"},
                                    {"global_batch", "8"},
                                    {"seq_len", "2000"},
                                    {"samples", "1000"}});
  EXPECT_EQ(tokens.measured->size, 16000);
  EXPECT_NEAR(tokens.measured->seconds.likely, 1 + 8.0 / 24, 1e-9);
}

TEST(MeasuredPlanTest, WhatIsNotSaidIsAssumedOrAskedFor) {
  const PlannedRun plan = PlanOf({{"measured", "1k=1s,4k=3s"}, {"seq_len", "2048"}, {"samples", "80"}, {"gpus", "8"}});
  EXPECT_NE(plan.assumed.front().find("a step takes 8 samples, one a GPU"), std::string::npos);
  EXPECT_NEAR(*plan.samples_per_min, 8 * 60 / plan.measured->seconds.likely, 1e-9);
  const std::pair<PlanWords, const char*> wrong[] = {
      {{{"measured", "1k=1s,4k=3s"}, {"samples", "80"}}, "give that length"},
      {{{"measured", "1=1s,4=3s"}, {"measured_by", "micro_batch"}, {"samples", "80"}}, "give that batch"},
      {{{"measured", "1=1s,4=3s"}, {"measured_by", "layers"}, {"samples", "80"}}, "measured_by 'layers' is not one of"},
      {{{"measured", "1=1s,4=3s"}, {"seq_len", "9"}, {"step_time", "1s"}, {"optimizer_steps", "9"}}, "give one"},
      {{{"measured_by", "seq_len"}, {"samples_per_min", "80"}, {"samples", "80"}}, "give both"},
      {{{"measured", "1=1s"}, {"seq_len", "9"}, {"samples", "80"}}, "measured: one size says nothing of another"},
  };
  for (const auto& [words, says] : wrong) {
    const Result<PlannedRun> refused = ReadPlan(words);
    ASSERT_FALSE(refused) << says;
    EXPECT_NE(refused.error().message.find(says), std::string::npos) << refused.error().message;
  }
}

// What was not measured is doubted: beyond the sizes, and where the steps mostly waited.
TEST(MeasuredPlanTest, DoubtsAreSaid) {
  const auto doubts = [](const char* measured, const char* length) {
    return DoubtsOf(*PlanOf({{"measured", measured}, {"seq_len", length}, {"samples", "80"}}).measured);
  };
  EXPECT_TRUE(doubts("512=1s,4096=3s", "2048").empty());
  EXPECT_EQ(doubts("512=1s,4096=3s", "8192").size(), 1U);
  EXPECT_EQ(doubts("512=1.0s,1024=1.1s", "4096").size(), 2U);
}

// A row answers by its probes, without a model and before formulas; its own result is not looked at.
TEST(MeasuredPlanTest, ARowBringsItsProbes) {
  const PredictedTable table = test::Predicted(
      "key,quantity,seq_len,micro_batch,grad_accum,s_per_iter,probe1_seq_len,probe1_s_per_iter,probe2_seq_len,"
      "probe2_s_per_iter\n"
      "time,s_per_iter,2048,1,8,99,512,0.2024,4096,0.9192\n"
      "rate,tokens_s_per_gpu,2048,1,8,99,512,0.2024,4096,0.9192\n"
      "one,s_per_iter,2048,1,8,,512,0.2024,,\n"
      "falls,s_per_iter,2048,1,8,,512,0.9,4096,0.2\n");
  EXPECT_EQ(table.nearness.at("probes"), 2U);
  EXPECT_TRUE(table.unknown_columns.empty());
  EXPECT_NE(table.csv.find("time,0.5096,"), std::string::npos) << table.csv;
  EXPECT_NE(table.csv.find("rate,32150.7,"), std::string::npos) << table.csv;  // 2048 x 8 / 0.5096
  EXPECT_NE(table.csv.find("one,,,"), std::string::npos) << table.csv;
  EXPECT_NE(table.csv.find("falls,,,"), std::string::npos) << table.csv;
  EXPECT_EQ(table.reasons.size(), 2U);
}

// Sizes may be batches or tokens, and a rate is a time.
TEST(MeasuredPlanTest, ProbesOfOtherSizes) {
  const PredictedTable table = test::Predicted(
      "key,quantity,config\n"
      "batch,s_per_iter,micro_batch=4;probe1_micro_batch=1;probe1_step_time=100ms;probe2_micro_batch=8;"
      "probe2_step_time=450ms\n"
      "tokens,s_per_iter,seq_len=1000;micro_batch=2;probe1_tokens=1000;probe1_s=1;probe2_tokens=5000;probe2_s=3\n"
      "rates,tokens_s_per_gpu,seq_len=1000;micro_batch=2;probe1_seq_len=500;probe1_tokens_s_per_gpu=1000;"
      "probe2_seq_len=2500;probe2_tokens_s_per_gpu=1666.666667\n"
      "none,tokens_s_per_gpu,micro_batch=4;probe1_micro_batch=1;probe1_s=1;probe2_micro_batch=8;probe2_s=4\n"
      "lost,s_per_iter,micro_batch=4;probe1_seq_len=1;probe1_s=1;probe2_seq_len=8;probe2_s=4\n");
  EXPECT_NE(table.csv.find("batch,0.25,"), std::string::npos) << table.csv;
  EXPECT_NE(table.csv.find("tokens,1.5,"), std::string::npos) << table.csv;
  EXPECT_NE(table.csv.find("rates,1333.33,"), std::string::npos) << table.csv;
  EXPECT_NE(table.csv.find("none,,,"), std::string::npos) << table.csv;
  EXPECT_NE(table.csv.find("lost,,,"), std::string::npos) << table.csv;
}

}  // namespace
}  // namespace idleburn
