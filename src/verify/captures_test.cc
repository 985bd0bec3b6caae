#include "verify/captures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

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

VerdictTerms Early() {
  VerdictTerms terms;
  terms.claim.emplace().written = Instant::FromNanos(0);
  return terms;
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
  EXPECT_EQ(JudgeCaptures(before, after, {}, 1).verdict, Verdict::kIndicated);
  EXPECT_EQ(JudgeCaptures(after, before, Early(), 1).verdict, Verdict::kRegression);
}

// What a claim asks of runs it asks of captures: each of these keeps three good captures a side from being VERIFIED.
TEST(CapturesTest, AClaimHoldsCapturesAsItHoldsRuns) {
  struct Spoiled {
    const char* reason;
    Verdict verdict;
    std::function<void(std::vector<StepCapture>& before, std::vector<StepCapture>& after, VerdictTerms& terms)> spoil;
  };
  const auto spoils = std::to_array<Spoiled>({
      {"baseline_differs_from_claim", Verdict::kIndicated,
       [](auto& before, auto&, auto& terms) {
         for (const StepCapture& capture : before) terms.claim->baseline.push_back({capture.name, "of a recording"});
       }},
      {"baseline_differs_from_claim", Verdict::kIndicated,
       [](auto& before, auto&, auto& terms) {
         terms.claim->baseline = {{"0", before[0].sha256}};
       }},
      {"retrospective", Verdict::kIndicated,
       [](auto&, auto& after, auto& terms) {
         terms.claim->written = *after[0].start + Nanos(-1);
         after[1].start.reset();  // it may have been the first, before the claim
       }},
      {"retrospective", Verdict::kIndicated, [](auto&, auto& after, auto& t) { t.claim->written = *after[0].start; }},
      {"retrospective", Verdict::kIndicated, [](auto&, auto&, auto& terms) { terms.claim.reset(); }},
      {"chosen_for_being_bad", Verdict::kIndicated,
       [](auto&, auto&, auto& terms) { terms.claim->choice = BaselineChoice::kWorst; }},
      {"chosen_for_being_bad", Verdict::kIndicated, [](auto&, auto&, auto& t) { t.chosen_for_being_bad = true; }},
      {"excluded_too_much", Verdict::kInvalid,
       [](auto&, auto&, auto& terms) {
         terms.exclusions = {{"slow", 0.03}, {"slower", 0.03}};
       }},
      {"unequal_units", Verdict::kInvalid, [](auto&, auto&, auto& t) { t.claim->unit = WorkUnit::kSample; }},
      {"sequential_needs_switchback", Verdict::kIndicated,
       [](auto&, auto&, auto& terms) { terms.claim->stop = StopRule::kSequential; }},
  });
  for (const Spoiled& spoiled : spoils) {
    std::vector<StepCapture> before = Three(200, 1);
    std::vector<StepCapture> after = Three(130, 2);
    for (std::size_t i = 0; i < 3; ++i) before[i].sha256 = std::to_string(i);
    VerdictTerms terms = Early();
    for (const StepCapture& capture : before) terms.claim->baseline.push_back({capture.name, capture.sha256});
    ASSERT_EQ(JudgeCaptures(before, after, terms, 1).verdict, Verdict::kVerified);
    if (std::string_view(spoiled.reason).starts_with("baseline")) terms.claim->baseline.clear();
    spoiled.spoil(before, after, terms);
    const CaptureVerdict verdict = JudgeCaptures(before, after, terms, 1);
    EXPECT_EQ(verdict.verdict, spoiled.verdict) << spoiled.reason;
    EXPECT_TRUE(Has(verdict, spoiled.reason)) << spoiled.reason;
    EXPECT_EQ(verdict.fraction.has_value(), spoiled.verdict != Verdict::kInvalid) << spoiled.reason;
    EXPECT_EQ(verdict.mean_fraction.has_value(), spoiled.verdict != Verdict::kInvalid) << spoiled.reason;
    const bool by_date = std::string_view(spoiled.reason) == "retrospective";
    EXPECT_EQ(verdict.retrospective, by_date) << spoiled.reason;
  }
}

// Before and after, a quarter less, of captures that differ by a tenth: the worst tenth of such would be, by itself,
// 1.755 deviations better the next time. Captures in turns, and a claim that says that these were all, need no guard.
TEST(CapturesTest, APickOfBadCapturesMayBeAllThereIs) {
  const CaptureVerdict apart = JudgeCaptures(Three(200, 1, 0.1), Three(150, 20, 0.1), Early(), 1);
  EXPECT_TRUE(Has(apart, "choice_not_excluded"));
  EXPECT_FALSE(Has(JudgeCaptures(Three(200, 1, 0.1), Three(150, 2, 0.1), Early(), 1), "choice_not_excluded"));
  VerdictTerms all = Early();
  all.claim->choice = BaselineChoice::kAll;
  EXPECT_FALSE(Has(JudgeCaptures(Three(200, 1, 0.1), Three(150, 20, 0.1), all, 1), "choice_not_excluded"));
  EXPECT_FALSE(Has(JudgeCaptures(Three(200, 1), Three(130, 20), Early(), 1), "choice_not_excluded"));
}

TEST(CapturesTest, NoCapturesAreNoStatement) {
  const CaptureVerdict verdict = JudgeCaptures({}, {}, {}, 1);
  EXPECT_EQ(verdict.verdict, Verdict::kInvalid);
  EXPECT_FALSE(verdict.fraction);
}

}  // namespace
}  // namespace idleburn
