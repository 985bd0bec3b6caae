#include "plan/evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/plan_report.h"

namespace idleburn {

// What probes and earlier runs do to a prediction. The runs are made up from the formulas and a factor, so that the
// answer is known: the factor must be found again, and earlier runs never make an interval wider than it was.

namespace {

const Instant kNow = Instant::FromNanos(1'763'755'200 * kNanosPerSecond);  // 2025-11-21
constexpr std::int64_t kDay = 24 * kNanosPerHour;

PlanWords Words(const std::string& micro_batch = "2") {
  return {{"model", "llama-2-7b"}, {"method", "lora"},  {"seq_len", "1024"},  {"micro_batch", micro_batch},
          {"accumulation", "4"},   {"gpu", "RTX-4090"}, {"samples", "100000"}};
}

PlannedRun Plan(const PlanWords& words) {
  const Result<PlannedRun> plan = ReadPlan(words);
  EXPECT_TRUE(plan) << plan.error().message;
  return *plan;
}

// A run of `words` at so many times the speed and memory that the formulas say.
RunReading Reading(const PlanWords& words, double speed, double memory, int days_ago = 0) {
  RunReading run;
  run.row = Plan(words).run;
  run.at = kNow + Nanos(-days_ago * kDay);
  run.steps = 20;
  run.seconds = 10;
  run.tokens_s = speed * *PredictedTokensPerSecond(ShippedCalibration().time, run.row);
  run.peak_bytes = memory * *PredictedPeakBytes(ShippedCalibration().memory, run.row);
  return run;
}

double LogWidth(const LikelyRange& range) { return std::log(range.high / range.low); }

// The line through two points: e = (t2 - t1) / (F2 - F1); c = max(0, t1 - e F1).
TEST(EvidenceTest, TwoSizesOfAPassGiveWhatIsFixed) {
  const std::optional<AffinePass> pass = FitAffine(2e12, 0.5, 8e12, 1.4);
  ASSERT_TRUE(pass);
  EXPECT_NEAR(pass->per_flop_s, 0.9 / 6e12, 1e-24);
  EXPECT_NEAR(pass->fixed_s, 0.5 - 0.9 / 6e12 * 2e12, 1e-12);
  EXPECT_EQ(FitAffine(2e12, 0.1, 8e12, 1.4)->fixed_s, 0) << "nothing fixed is less than nothing";
  EXPECT_FALSE(FitAffine(2e12, 1, 8e12, 0.9)) << "more work in less time";
  EXPECT_FALSE(FitAffine(2e12, 1, 2e12, 1));
}

TEST(EvidenceTest, AProbeIsThePlanAndItsIntervalShrinks) {
  const PlannedRun plan = Plan(Words());
  const Result<PlanReport> before = MakePlan(ShippedCalibration(), plan);
  const RunReading run = Reading(Words(), 0.5, 1.2);
  const Evidence probe = EvidenceOfProbes(ShippedCalibration(), plan, {run, run});
  EXPECT_EQ(probe.text, "probe of 2025-11-21: 20 + 20 steps");
  const Result<PlanReport> after = MakePlan(ShippedCalibration(), plan, probe);
  ASSERT_TRUE(before && after);
  EXPECT_NEAR(after->tokens_per_s->likely, *run.tokens_s, 1e-6);
  EXPECT_NEAR(after->memory.likely, *run.peak_bytes, 1);
  EXPECT_NEAR(after->parts.total() / after->memory.likely, 1, 1e-9) << "the breakdown still adds up";
  EXPECT_NEAR(after->hours->likely, 2 * before->hours->likely, 1e-6) << "half the speed is twice the time";
  const auto width = [](const Prediction& p) { return std::log(p.high / p.low); };
  EXPECT_LT(width(*after->tokens_per_s), width(*before->tokens_per_s));
  EXPECT_LT(width(after->memory), width(before->memory));
}

// Steps that vary, or two probes that disagree, widen it.
TEST(EvidenceTest, WhatProbesDisagreeOnWidensTheInterval) {
  const PlannedRun plan = Plan(Words());
  const RunReading run = Reading(Words(), 1, 1);
  const double calm = LogWidth(*EvidenceOfProbes(ShippedCalibration(), plan, {run, run}).tokens_s);
  EXPECT_NEAR(calm, 2 * 0.05, 1e-9);
  RunReading noisy = run;
  noisy.log_error = 0.2;
  EXPECT_NEAR(LogWidth(*EvidenceOfProbes(ShippedCalibration(), plan, {noisy}).tokens_s), 0.4, 1e-9);
  const RunReading faster = Reading(Words(), std::exp(0.3), 1);
  EXPECT_NEAR(LogWidth(*EvidenceOfProbes(ShippedCalibration(), plan, {run, faster}).tokens_s), 0.6, 1e-9);
}

TEST(EvidenceTest, AnotherMicroBatchSaysWhatIsFixedAndNothingOfThePlan) {
  const PlannedRun plan = Plan(Words("2"));
  const RunReading run = Reading(Words("2"), 1, 1);
  const Evidence probe = EvidenceOfProbes(ShippedCalibration(), plan, {run, Reading(Words("1"), 0.7, 2)});
  EXPECT_NEAR(probe.tokens_s->likely, *run.tokens_s, 1e-6);
  EXPECT_NEAR(probe.peak_bytes->likely, *run.peak_bytes, 1);
  EXPECT_TRUE(probe.pass);
}

TEST(EvidenceTest, OtherGpusTakeTheFactorAndKeepTheirInterval) {
  const PlannedRun plan = Plan(Words());
  const Evidence probe = EvidenceOfProbes(ShippedCalibration(), plan, {Reading(Words(), 0.5, 1)});
  RunRow other = plan.run;
  other.run.gpu = "H100-80GB-SXM";
  const std::optional<Prediction> model = PredictTokensPerSecond(ShippedCalibration(), other);
  const std::optional<Prediction> with = TokensOn(ShippedCalibration(), plan, probe, other);
  ASSERT_TRUE(model && with);
  EXPECT_NEAR(with->likely / model->likely, 0.5, 1e-9);
  EXPECT_NEAR(with->high / with->low, model->high / model->low, 1e-9);
}

TEST(EvidenceTest, EarlierRunsOfTheSameModelAndGpuCount) {
  const PlannedRun plan = Plan(Words("4"));
  PlanWords other_gpu = Words();
  other_gpu["gpu"] = "H100-80GB-SXM";
  PlanWords other_model = Words();
  other_model["model"] = "llama-3.1-8b";
  PlanWords other_framework = Words();
  other_framework["framework"] = "peft";
  PlanWords other_method = Words();
  other_method["method"] = "qlora";
  const std::vector<RunReading> runs = {Reading(Words(), 0.5, 1.1, 1),   Reading(Words("1"), 0.52, 1.1, 3),
                                        Reading(Words(), 0.51, 1.12, 2), Reading(other_gpu, 3, 3, 1),
                                        Reading(other_model, 3, 3, 1),   Reading(other_framework, 3, 3, 1),
                                        Reading(other_method, 3, 3, 1)};
  const std::optional<Evidence> past = EvidenceOfHistory(ShippedCalibration(), plan, runs, kNow);
  ASSERT_TRUE(past);
  EXPECT_EQ(past->text, "history: 3 runs, 2025-11-18 to 2025-11-20");
  EXPECT_NEAR(past->tokens_factor, std::cbrt(0.5 * 0.52 * 0.51), 0.001);
  EXPECT_NEAR(past->peak_factor, 1.107, 0.002);
  const std::optional<Prediction> model = PredictTokensPerSecond(ShippedCalibration(), plan.run);
  EXPECT_LT(LogWidth(*past->tokens_s), std::log(model->high / model->low));
  EXPECT_FALSE(EvidenceOfHistory(ShippedCalibration(), plan, std::span(runs).subspan(3), kNow));
}

// Two runs that contradict each other say less than the published ones: their interval is no wider than without them.
TEST(EvidenceTest, RunsThatDifferNeverWidenTheInterval) {
  const PlannedRun plan = Plan(Words());
  const std::vector<RunReading> runs = {Reading(Words(), 0.3, 1), Reading(Words(), 3, 1)};
  const std::optional<Evidence> past = EvidenceOfHistory(ShippedCalibration(), plan, runs, kNow);
  const std::optional<Prediction> model = PredictTokensPerSecond(ShippedCalibration(), plan.run);
  EXPECT_NEAR(LogWidth(*past->tokens_s), std::log(model->high / model->low), 1e-9);
}

TEST(EvidenceTest, ARecentRunWeighsMore) {
  const PlannedRun plan = Plan(Words());
  const std::vector<RunReading> runs = {Reading(Words(), 2, 1, 0), Reading(Words(), 1, 1, 90)};
  // Half the weight after 90 days: (ln 2 x 1 + 0 x 1/2) / 1.5.
  EXPECT_NEAR(EvidenceOfHistory(ShippedCalibration(), plan, runs, kNow)->tokens_factor, std::exp2(2.0 / 3), 1e-6);
}

// A command that outruns the GPU trains something else than the plan says.
TEST(EvidenceTest, AProbeThatCannotBeIsAWarning) {
  const PlannedRun plan = Plan(Words());
  const auto warned = [&](double tokens_s) {
    RunReading run = Reading(Words(), 1, 1);
    run.tokens_s = tokens_s;
    const Evidence probe = EvidenceOfProbes(ShippedCalibration(), plan, {run});
    const Result<PlanReport> report = MakePlan(ShippedCalibration(), plan, probe);
    return std::any_of(report->warnings.begin(), report->warnings.end(), [](const std::string& warning) {
      return warning.find("does not train this model") != std::string::npos;
    });
  };
  EXPECT_TRUE(warned(18'773));  // 506 TFLOP/s by 4 N, of a GPU that has 165
  EXPECT_FALSE(warned(3'083));  // a published run on that GPU
}

}  // namespace
}  // namespace idleburn
