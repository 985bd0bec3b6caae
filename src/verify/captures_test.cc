#include "verify/captures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace idleburn {
namespace {

// Steps of `ms`, a little uneven, with an evaluation of 2,000 ms every `every` steps (0: never); the profiler's ends
// are far off.
StepCapture Capture(double ms, int steps, int every = 0) {
  StepCapture capture;
  capture.step_seconds.push_back(5);
  for (int i = 0; i < steps; ++i) {
    const double uneven = 1 + 0.004 * ((i * 7 % 11) - 5);
    const bool evaluation = every > 0 && i % every == every - 1;
    capture.step_seconds.push_back((ms * uneven + (evaluation ? 2000 : 0)) / 1000);
  }
  capture.step_seconds.push_back(9);
  capture.kernels_per_step = 1000;
  return capture;
}

std::vector<StepCapture> Three(double ms, double hour, double noise = 0.01) {
  std::vector<StepCapture> captures;
  for (int i = 0; i < 3; ++i) {
    captures.push_back(Capture(ms * (1 + noise * (i - 1)), 30));
    captures.back().start = Instant::FromNanos(static_cast<std::int64_t>((hour + 2 * i) * 3.6e12));
  }
  return captures;
}

std::optional<Claim> Early() {
  Claim claim;
  claim.written = Instant::FromNanos(0);
  return claim;
}

bool Has(const CaptureVerdict& verdict, std::string_view id) {
  return std::any_of(verdict.reasons.begin(), verdict.reasons.end(),
                     [id](const VerdictReason& reason) { return reason.id == id; });
}

// 200 -> 130 ms with an evaluation of 2,000 ms every 20 steps: the step gains 35 %, the bill, 6,000 -> 4,600 ms, 23.3
// %.
TEST(CapturesTest, TheStepGainsMoreThanTheBill) {
  const std::vector<StepCapture> before = {Capture(200, 40, 20)};
  const std::vector<StepCapture> after = {Capture(130, 40, 20)};
  const CaptureVerdict verdict = JudgeCaptures(before, after, Early(), 1);
  EXPECT_NEAR(*verdict.fraction, 0.35, 0.005);
  EXPECT_NEAR(*verdict.mean_fraction, 1 - 4600.0 / 6000, 0.002);
  EXPECT_TRUE(Has(verdict, "not_cashable_from_capture"));
  EXPECT_EQ(verdict.verdict, Verdict::kIndicated);  // one capture is one run
  EXPECT_TRUE(Has(verdict, "few_captures"));
  EXPECT_EQ(verdict.before.steps, 40);
  EXPECT_LT(verdict.saving->low, 0.35);
  EXPECT_GT(verdict.saving->low, 0.33);
}

TEST(CapturesTest, FewStepsShowAnEstimateOnly) {
  const std::vector<StepCapture> before = {Capture(200, 19)};
  const std::vector<StepCapture> after = {Capture(130, 40)};
  const CaptureVerdict verdict = JudgeCaptures(before, after, Early(), 1);
  EXPECT_EQ(verdict.verdict, Verdict::kNotShown);
  EXPECT_TRUE(Has(verdict, "few_steps"));
  EXPECT_NEAR(*verdict.fraction, 0.35, 0.01);
  EXPECT_FALSE(verdict.saving);
}

TEST(CapturesTest, OtherWorkCannotBeCompared) {
  const std::vector<StepCapture> before = {Capture(200, 40)};
  std::vector<StepCapture> after = {Capture(130, 40)};
  after[0].kernels_per_step = 1019;
  EXPECT_EQ(JudgeCaptures(before, after, Early(), 1).verdict, Verdict::kIndicated);
  after[0].kernels_per_step = 1021;
  EXPECT_EQ(JudgeCaptures(before, after, Early(), 1).verdict, Verdict::kInvalid);
  EXPECT_TRUE(Has(JudgeCaptures(before, after, Early(), 1), "unequal_work"));
  after[0].kernels_per_step.reset();
  EXPECT_TRUE(Has(JudgeCaptures(before, after, Early(), 1), "equal_work_not_shown"));
}

// Three a side in turn, claimed before: like runs.
TEST(CapturesTest, ThreeCapturesASideCanVerify) {
  const std::vector<StepCapture> before = Three(200, 1);
  const std::vector<StepCapture> after = Three(130, 2);
  const CaptureVerdict verdict = JudgeCaptures(before, after, Early(), 1);
  EXPECT_EQ(verdict.verdict, Verdict::kVerified);
  EXPECT_TRUE(verdict.guard->over_runs);
  // What differs between captures decides: var(ln) / 3 on each side, t with 4 degrees of freedom.
  const double deviation = (std::log(1.01) - std::log(0.99)) / 2;
  const double half = 2.776445 * std::sqrt(2 * deviation * deviation / 3);
  EXPECT_NEAR(verdict.saving->low, 1 - 0.65 * std::exp(half), 2e-4);
  EXPECT_EQ(JudgeCaptures(before, after, std::nullopt, 1).verdict, Verdict::kIndicated);
  EXPECT_EQ(JudgeCaptures(after, before, Early(), 1).verdict, Verdict::kRegression);
}

TEST(CapturesTest, NoCapturesAreNoStatement) {
  const CaptureVerdict verdict = JudgeCaptures({}, {}, std::nullopt, 1);
  EXPECT_EQ(verdict.verdict, Verdict::kInvalid);
  EXPECT_FALSE(verdict.fraction);
}

}  // namespace
}  // namespace idleburn
