#include "verify/judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>

#include "places.h"
#include "stats/order.h"
#include "stats/random.h"

namespace idleburn {
namespace {

Instant Hour(double hours) { return Instant::FromNanos(static_cast<std::int64_t>(hours * 3.6e12)); }

// Half an hour of 1,000 steps, known by its totals.
MeasuredRun Totals(double hour, double ratio) {
  MeasuredRun run;
  run.name = "run at " + std::to_string(static_cast<int>(hour));
  run.sha256 = run.name;
  run.start = Hour(hour);
  run.end = Hour(hour + 0.5);
  run.unit = WorkUnit::kStep;
  run.work = 1000;
  run.gpu_seconds = 1000 * ratio;
  run.factors = {{"gpu.model", "H100"}, {"precision", "bf16"}, {"command", "train.py " + run.name}};
  return run;
}

constexpr std::array<double, 5> kNoise = {1.000, 1.012, 0.991, 1.006, 0.994};

// Five runs a side in turn, a cut of `effect`, claimed before: VERIFIED at 20 %.
Comparison Interleaved(double effect) {
  Comparison comparison;
  comparison.claim.emplace();
  comparison.claim->written = Hour(0.5);
  for (std::size_t i = 0; i < kNoise.size(); ++i) {
    comparison.before.push_back(Totals(static_cast<double>(2 * i), kNoise.at(i)));
    comparison.after.push_back(Totals(static_cast<double>(2 * i + 1), (1 - effect) * kNoise.at((i + 2) % 5)));
  }
  return comparison;
}

bool Has(const SavingVerdict& verdict, std::string_view id) {
  return std::any_of(verdict.reasons.begin(), verdict.reasons.end(),
                     [id](const VerdictReason& reason) { return reason.id == id; });
}

std::string Ids(const SavingVerdict& verdict) {
  std::string ids(VerdictName(verdict.verdict));
  for (const VerdictReason& reason : verdict.reasons) ids += " " + std::string(reason.id);
  return ids;
}

WorkPiece SteadyRows(std::size_t n, double hour) {
  WorkPiece rows;
  for (std::size_t i = 0; i < n; ++i) {
    rows.push_back({Hour(hour + static_cast<double>(i + 1) / 3600), 1 + 0.01 * static_cast<double>(i * 7 % 5), 1});
  }
  return rows;
}

TEST(JudgeTest, ACleanComparisonIsVerified) {
  const SavingVerdict verdict = Judge(Interleaved(0.2));
  EXPECT_EQ(verdict.verdict, Verdict::kVerified) << Ids(verdict);
  EXPECT_EQ(verdict.layout, RunLayout::kInterleaved);
  EXPECT_TRUE(verdict.reasons.empty()) << Ids(verdict);
  EXPECT_FALSE(verdict.retrospective);
  EXPECT_TRUE(verdict.guard->over_runs);
  EXPECT_TRUE(verdict.guard->same_side);
}

// By the formula of docs/verification.md, "The interval", with its sums written out: the same noise on both sides, in
// another order.
TEST(JudgeTest, TheIntervalOfRunsKnownByTotalsByHand) {
  const SavingVerdict verdict = Judge(Interleaved(0.2));
  double mean = 0;
  for (const double noise : kNoise) mean += std::log(noise) / 5;
  double squares = 0;
  for (const double noise : kNoise) squares += (std::log(noise) - mean) * (std::log(noise) - mean);
  const double q = std::sqrt(2 * squares / 4 / 5);
  const double t95 = 2.306004;  // 4 + 4 degrees of freedom, from the published table
  const double t90 = 1.859548;
  EXPECT_NEAR(*verdict.fraction, 0.2, 1e-12);
  EXPECT_NEAR(verdict.saving->low, 1 - 0.8 * std::exp(t95 * q), 1e-8);
  EXPECT_NEAR(verdict.saving->high, 1 - 0.8 * std::exp(-t95 * q), 1e-8);
  EXPECT_NEAR(verdict.saving90->low, 1 - 0.8 * std::exp(t90 * q), 1e-8);
  // 5,003 GPU-seconds would have been, 4,002.4 were.
  EXPECT_NEAR(verdict.avoided_gpu_seconds->fraction, 1000.6, 1e-6);
  EXPECT_NEAR(verdict.avoided_gpu_seconds->low, 4002.4 * (std::exp(-t95 * q) / 0.8 - 1), 1e-4);
  const double t68 = StudentTQuantile(8, 0.84);
  EXPECT_NEAR(*verdict.fsu, t68 * 0.8 * q / 0.2, 1e-9);
  EXPECT_NEAR(*verdict.smallest_shown, (t95 + StudentTQuantile(8, 0.8)) * 0.8 * q, 1e-7);
}

// Runs of unequal size: the divisor is (sum W)^2 / sum W^2.
TEST(JudgeTest, ALargeRunCountsForFewerRuns) {
  Comparison comparison = Interleaved(0.2);
  comparison.before[0].work *= 10;
  comparison.before[0].gpu_seconds *= 10;
  std::vector<double> logs;
  double work = 0;
  double squares = 0;
  for (const MeasuredRun& run : comparison.before) {
    logs.push_back(std::log(run.gpu_seconds / run.work));
    work += run.work;
    squares += run.work * run.work;
  }
  double mean = 0;
  for (const double value : logs) mean += value / 5;
  double variance = 0;
  for (const double value : logs) variance += (value - mean) * (value - mean) / 4;
  EXPECT_NEAR(Judge(comparison).before.relative_error, std::sqrt(variance * squares / work / work), 1e-12);
}

struct Spoiled {
  const char* reason;
  Verdict verdict;
  std::function<void(Comparison&)> spoil;
};

const std::vector<Spoiled>& Spoils() {
  static const std::vector<Spoiled> kSpoils = {
      {"no_work_count", Verdict::kInvalid, [](Comparison& c) { c.after[1].unit.reset(); }},
      {"no_work_count", Verdict::kInvalid, [](Comparison& c) { c.before[1].work = 0; }},
      {"no_work_count", Verdict::kInvalid, [](Comparison& c) { c.before.clear(); }},
      {"no_gpu_time", Verdict::kInvalid, [](Comparison& c) { c.before[1].gpu_seconds = 0; }},
      {"unequal_units", Verdict::kInvalid, [](Comparison& c) { c.after[1].unit = WorkUnit::kToken; }},
      {"unequal_units", Verdict::kInvalid, [](Comparison& c) { c.claim->unit = WorkUnit::kEpoch; }},
      {"static_factor_changed", Verdict::kInvalid, [](Comparison& c) { c.after[1].factors["precision"] = "fp8"; }},
      {"static_factor_changed", Verdict::kInvalid,
       [](Comparison& c) {
         c.claim->factors = {{"gpu.model", "A100"}};
       }},
      {"static_factor_changed", Verdict::kInvalid,
       [](Comparison& c) {
         c.after[1].factors["precision"] = "fp8";
         c.adjustments.push_back({"precision", "bf16", "fp8", std::nullopt, "a guess"});
       }},
      {"observed_below_95", Verdict::kInvalid,
       [](Comparison& c) {
         for (MeasuredRun& run : c.after) run.observed_fraction = 0.949;
       }},
      {"few_rows", Verdict::kInvalid,
       [](Comparison& c) {
         c.after[0].telemetry = true;
         c.after[0].pieces = {SteadyRows(29, 1)};
       }},
      {"overlap", Verdict::kInvalid, [](Comparison& c) { c.after[0].start = Hour(0.25); }},
      {"excluded_too_much", Verdict::kInvalid,
       [](Comparison& c) {
         c.exclusions = {{"node failed", 0.03}, {"evaluation", 0.021}};
       }},
      {"clock_steps", Verdict::kInvalid,
       [](Comparison& c) {
         c.after[2].doubts = {{"clock_steps", "back by 3 s"}};
       }},
      {"work_counter_restarted", Verdict::kInvalid,
       [](Comparison& c) {
         c.after[2].doubts = {{"work_counter_restarted", "from 900 to 0"}};
       }},
      {"few_segments", Verdict::kNotShown, [](Comparison& c) { c.after.resize(2); }},
      {"retrospective", Verdict::kIndicated, [](Comparison& c) { c.claim.reset(); }},
      {"retrospective", Verdict::kIndicated, [](Comparison& c) { c.claim->written = Hour(1); }},
      {"baseline_differs_from_claim", Verdict::kIndicated,
       [](Comparison& c) {
         c.claim->baseline = {{"other", "0123"}};
       }},
      {"chosen_for_being_bad", Verdict::kIndicated, [](Comparison& c) { c.chosen_for_being_bad = true; }},
      {"smallest_effect_not_reached", Verdict::kIndicated, [](Comparison& c) { c.claim->smallest_effect = 0.19; }},
      {"sequential_needs_switchback", Verdict::kIndicated,
       [](Comparison& c) {
         c.claim->stop = StopRule::kSequential;
         for (int i = 0; i < 16; ++i)
           c.after.push_back(Totals(20 + i, 0.8 * kNoise.at(static_cast<std::size_t>(i % 5))));
       }},
      {"before_first_look", Verdict::kNotShown, [](Comparison& c) { c.claim->stop = StopRule::kSequential; }},
      {"few_dated_runs", Verdict::kIndicated, [](Comparison& c) { c.before[3].end.reset(); }},
      {"static_factor_unknown", Verdict::kVerified, [](Comparison& c) { c.before[3].factors.erase("precision"); }},
      {"comparators_not_used", Verdict::kVerified, [](Comparison& c) { c.untouched_before = {Totals(0, 1)}; }},
      {"baseline_model_fell_back", Verdict::kVerified, [](Comparison& c) { c.claim->model = BaselineModel::kLinear; }},
  };
  return kSpoils;
}

TEST(JudgeTest, EachFlawHasItsReasonAndItsVerdict) {
  for (const Spoiled& spoiled : Spoils()) {
    Comparison comparison = Interleaved(0.2);
    spoiled.spoil(comparison);
    const SavingVerdict verdict = Judge(comparison);
    EXPECT_EQ(verdict.verdict, spoiled.verdict) << spoiled.reason << ": " << Ids(verdict);
    EXPECT_TRUE(Has(verdict, spoiled.reason)) << spoiled.reason << ": " << Ids(verdict);
    EXPECT_FALSE(spoiled.verdict == Verdict::kInvalid && verdict.fraction) << spoiled.reason;
    EXPECT_EQ(verdict.saving.has_value(), spoiled.verdict != Verdict::kInvalid && spoiled.verdict != Verdict::kNotShown)
        << spoiled.reason;
  }
}

// Nine pairs and a block more: it has no partner.
TEST(JudgeTest, ABlockWithoutAPartnerIsLeftOutAndSaid) {
  Comparison comparison;
  comparison.claim.emplace();
  comparison.claim->written = Hour(-1);
  comparison.claim->design = ClaimDesign::kSwitchback;
  for (int pair = 0; pair < 9; ++pair) {
    const bool after_first = pair * 7 % 3 == 1;
    comparison.before.push_back(
        Totals(2 * pair + (after_first ? 1 : 0), kNoise.at(static_cast<std::size_t>(pair % 5))));
    comparison.after.push_back(
        Totals(2 * pair + (after_first ? 0 : 1), 0.8 * kNoise.at(static_cast<std::size_t>(pair * 3 % 5))));
  }
  EXPECT_FALSE(Has(Judge(comparison), "blocks_unpaired"));
  const double paired = *Judge(comparison).fraction;
  comparison.before.push_back(Totals(18, 5));
  const SavingVerdict verdict = Judge(comparison);
  EXPECT_TRUE(Has(verdict, "blocks_unpaired")) << Ids(verdict);
  EXPECT_EQ(verdict.verdict, Verdict::kVerified) << Ids(verdict);
  EXPECT_EQ(verdict.pairs, 9);
  EXPECT_EQ(*verdict.fraction, paired);
}

// Five runs before, then five after, a cut of `effect`; runs differ by 0.8 % (kNoise).
Comparison InTurn(double effect) {
  Comparison comparison = Interleaved(effect);
  for (std::size_t i = 0; i < kNoise.size(); ++i) {
    comparison.before[i] = Totals(1 + static_cast<double>(i), kNoise.at(i));
    comparison.after[i] = Totals(6 + static_cast<double>(i), (1 - effect) * kNoise.at((i + 2) % 5));
  }
  return comparison;
}

// 1.755 deviations and t(4) = 2.776 of the difference of two means of five: 2.8 % here.
TEST(JudgeTest, ASavingMustExceedWhatPickingTheWorstTenthMakes) {
  EXPECT_EQ(Judge(InTurn(0.05)).verdict, Verdict::kVerified);
  const SavingVerdict small = Judge(InTurn(0.025));
  EXPECT_EQ(small.verdict, Verdict::kIndicated) << Ids(small);
  EXPECT_TRUE(Has(small, "choice_not_excluded"));
  EXPECT_GT(small.saving->low, 0.01);
  Comparison said = InTurn(0.025);
  said.claim->choice = BaselineChoice::kAll;
  EXPECT_EQ(Judge(said).verdict, Verdict::kVerified) << Ids(Judge(said));
  EXPECT_EQ(Judge(Interleaved(0.025)).verdict, Verdict::kVerified);
  EXPECT_FALSE(Has(Judge(InTurn(-0.2)), "choice_not_excluded"));
}

TEST(JudgeTest, AClaimThatSaysWorstVerifiesNothing) {
  Comparison comparison = InTurn(0.2);
  comparison.claim->choice = BaselineChoice::kWorst;
  const SavingVerdict verdict = Judge(comparison);
  EXPECT_EQ(verdict.verdict, Verdict::kIndicated);
  EXPECT_TRUE(Has(verdict, "chosen_for_being_bad"));
}

TEST(JudgeTest, TheHistoryTellsAPickFromAnAccident) {
  Comparison comparison = InTurn(0.025);
  comparison.known.emplace();
  for (const double noise : kNoise) comparison.known->baseline.push_back(std::log(noise));
  comparison.known->others.assign(20, std::log(0.95));
  const SavingVerdict picked = Judge(comparison);
  EXPECT_EQ(picked.verdict, Verdict::kIndicated);
  EXPECT_TRUE(Has(picked, "chosen_for_being_bad")) << Ids(picked);
  comparison.claim->choice = BaselineChoice::kAll;  // what is known speaks against it
  EXPECT_TRUE(Has(Judge(comparison), "chosen_for_being_bad"));
  comparison.claim->choice = BaselineChoice::kUnknown;
  for (std::size_t i = 0; i < 20; ++i) comparison.known->others[i] = std::log(kNoise.at(i % 5));
  EXPECT_EQ(Judge(comparison).verdict, Verdict::kVerified) << Ids(Judge(comparison));
  comparison.known->others.resize(9);  // fewer than twice as many: as if nothing were known
  EXPECT_TRUE(Has(Judge(comparison), "choice_not_excluded"));
}

TEST(JudgeTest, InvalidComesBeforeEverythingElse) {
  Comparison comparison = Interleaved(0.2);
  comparison.after.resize(1);
  comparison.after[0].factors["precision"] = "fp8";
  EXPECT_EQ(Judge(comparison).verdict, Verdict::kInvalid);
}

TEST(JudgeTest, WhatTheMeasureChangesIsNoStaticFactor) {
  Comparison comparison = Interleaved(0.2);
  for (MeasuredRun& run : comparison.after) run.factors["precision"] = "fp8";
  comparison.claim->changed_factor = "precision";
  EXPECT_EQ(Judge(comparison).verdict, Verdict::kVerified);
}

TEST(JudgeTest, AMeasuredAdjustmentJoinsWhatWasAvoided) {
  Comparison comparison = Interleaved(0.2);
  const SavingVerdict plain = Judge(comparison);
  for (MeasuredRun& run : comparison.after) run.factors["driver"] = "570";
  for (MeasuredRun& run : comparison.before) run.factors["driver"] = "550";
  EXPECT_EQ(Judge(comparison).verdict, Verdict::kInvalid);
  comparison.adjustments.push_back({"driver", "550", "570", -50.03, "untouched jobs, 6 runs"});
  const SavingVerdict verdict = Judge(comparison);
  EXPECT_EQ(verdict.verdict, Verdict::kVerified) << Ids(verdict);
  EXPECT_NEAR(verdict.avoided_gpu_seconds->fraction, plain.avoided_gpu_seconds->fraction - 50.03, 1e-6);
  EXPECT_NEAR(verdict.avoided_gpu_seconds->low, plain.avoided_gpu_seconds->low - 50.03, 1e-6);
  EXPECT_NEAR(*verdict.fraction, 0.2 - 0.01, 1e-9);  // of 5,003 that would have been
  EXPECT_NEAR(verdict.saving->high, plain.saving->high - 0.01, 1e-9);
}

TEST(JudgeTest, ARegressionNeedsNoClaim) {
  Comparison comparison = Interleaved(-0.2);
  EXPECT_EQ(Judge(comparison).verdict, Verdict::kRegression);
  comparison.claim.reset();
  EXPECT_EQ(Judge(comparison).verdict, Verdict::kRegression);
  for (MeasuredRun& run : comparison.after) run.end.reset();
  EXPECT_EQ(Judge(comparison).verdict, Verdict::kIndicatedRegression);  // no guard
}

TEST(JudgeTest, NoiseIsNotShownAndSaysWhatCouldHaveBeen) {
  const SavingVerdict verdict = Judge(Interleaved(0.002));
  EXPECT_EQ(verdict.verdict, Verdict::kNotShown);
  EXPECT_TRUE(Has(verdict, "inside_the_noise"));
  EXPECT_GT(*verdict.smallest_shown, 0.005);
  EXPECT_LT(verdict.saving->low, 0.002);
}

TEST(JudgeTest, NoEffectAtAllHasNoFsu) {
  Comparison comparison = Interleaved(0);
  for (std::size_t i = 0; i < 5; ++i) comparison.after[i].gpu_seconds = comparison.before[i].gpu_seconds;
  const SavingVerdict verdict = Judge(comparison);
  EXPECT_EQ(*verdict.fraction, 0);
  EXPECT_FALSE(verdict.fsu);
}

// The same trend on both sides and no step.
TEST(JudgeTest, ADriftIsNoSaving) {
  Comparison comparison = Interleaved(0);
  comparison.before.clear();
  comparison.after.clear();
  for (int i = 0; i < 10; ++i) {
    const double ratio = (1 - 0.02 * i) * kNoise.at(static_cast<std::size_t>(i * 3 % 5));
    (i < 5 ? comparison.before : comparison.after).push_back(Totals(10 + i, ratio));
  }
  const SavingVerdict verdict = Judge(comparison);
  EXPECT_EQ(verdict.layout, RunLayout::kBeforeAfter);
  EXPECT_GT(verdict.saving->low, 0.01);
  EXPECT_EQ(verdict.verdict, Verdict::kIndicated) << Ids(verdict);
  EXPECT_TRUE(Has(verdict, "drift_not_excluded"));
  EXPECT_TRUE(Has(verdict, "use_switchback"));
}

// Untouched jobs drift alike: the difference to them is the change, and needs no guard.
TEST(JudgeTest, UntouchedJobsTakeTheDriftOut) {
  Comparison comparison = Interleaved(0);
  comparison.before.clear();
  comparison.after.clear();
  for (int i = 0; i < 10; ++i) {
    const double drift = 1 - 0.02 * i;
    const double noise = kNoise.at(static_cast<std::size_t>(i * 3 % 5));
    const double other = kNoise.at(static_cast<std::size_t>((i * 2 + 1) % 5));
    (i < 5 ? comparison.before : comparison.after).push_back(Totals(10 + i, drift * noise * (i < 5 ? 1 : 0.7)));
    (i < 5 ? comparison.untouched_before : comparison.untouched_after).push_back(Totals(10 + i, drift * other));
  }
  const SavingVerdict verdict = Judge(comparison);
  ASSERT_TRUE(verdict.comparators);
  EXPECT_TRUE(*verdict.comparators->parallel);
  EXPECT_NEAR(*verdict.fraction, 0.3, 0.01);
  EXPECT_EQ(verdict.verdict, Verdict::kVerified) << Ids(verdict);
  EXPECT_GT(verdict.saving->high - verdict.saving->low, 0.02);  // four errors in quadrature

  // Untouched jobs that already moved apart before the change stand for nothing.
  for (std::size_t i = 0; i < 5; ++i) comparison.untouched_before[i].gpu_seconds *= i < 2 ? 0.5 : 1;
  const SavingVerdict apart = Judge(comparison);
  EXPECT_FALSE(*apart.comparators->parallel);
  EXPECT_TRUE(Has(apart, "comparators_not_used"));
}

MeasuredRun WithRows(double hour, std::size_t rows) {
  MeasuredRun run = Totals(hour, 1);
  run.pieces = {SteadyRows(rows, hour)};
  run.gpu_seconds = 0;
  for (const WorkRow& row : run.pieces[0]) run.gpu_seconds += row.gpu_seconds;
  run.work = static_cast<double>(rows);
  return run;
}

TEST(JudgeTest, OneRunASideNeverSuffices) {
  Comparison comparison;
  comparison.claim.emplace();
  comparison.before = {WithRows(1, 900)};
  comparison.after = {WithRows(3, 900)};
  comparison.after[0].gpu_seconds *= 0.5;
  const SavingVerdict verdict = Judge(comparison);
  EXPECT_EQ(verdict.verdict, Verdict::kIndicated) << Ids(verdict);
  EXPECT_TRUE(Has(verdict, "run_to_run_noise_not_seen"));
  EXPECT_TRUE(verdict.bootstrap);
  EXPECT_FALSE(verdict.guard->over_runs);
}

// Twelve rows: too few to say anything, and how many more hours it takes.
TEST(JudgeTest, TooFewIndependentRowsGiveNoInterval) {
  Comparison comparison;
  comparison.before = {WithRows(1, 12)};
  comparison.after = {WithRows(3, 900)};
  const SavingVerdict verdict = Judge(comparison);
  EXPECT_EQ(verdict.verdict, Verdict::kNotShown);
  EXPECT_TRUE(Has(verdict, "too_few_independent_data")) << Ids(verdict);
  EXPECT_FALSE(verdict.saving);
  EXPECT_TRUE(verdict.fraction);
  // n_eff = n / tau, of n rows as summed.
  EXPECT_GT(verdict.after.summed, 0);
  EXPECT_LE(verdict.after.summed, verdict.after.rows);
  EXPECT_NEAR(*verdict.after.n_eff * *verdict.after.tau, static_cast<double>(verdict.after.summed), 1e-6);
  ASSERT_TRUE(verdict.more_hours);
  // At least 30 correlation times before, a second a row.
  EXPECT_GE(*verdict.more_hours, (30 * *verdict.before.tau - 12) / 3600 - 1e-9);
  EXPECT_LT(*verdict.more_hours, 1);
}

TEST(JudgeTest, ManyRunsOfFewRowsAreAtMostIndicated) {
  Comparison comparison = Interleaved(0.2);
  for (MeasuredRun& run : comparison.before) run.pieces = {SteadyRows(5, 0)};
  for (MeasuredRun& run : comparison.after) run.pieces = {SteadyRows(5, 0)};
  const SavingVerdict verdict = Judge(comparison);
  EXPECT_LT(*verdict.before.n_eff, 30);
  EXPECT_TRUE(Has(verdict, "low_effective_n"));
  EXPECT_EQ(verdict.verdict, Verdict::kIndicated);
}

// Before, an oscillation of four rows hides slow noise from the correlation time, which stops at the first pair of lags
// that is not positive. Blocks as long as the other side's correlation see it.
TEST(JudgeTest, TheWiderIntervalIsGiven) {
  Random random(31);
  Comparison comparison;
  comparison.before = {WithRows(1, 1000)};
  comparison.after = {WithRows(3, 1000)};
  double slow = random.Normal();
  double other = random.Normal();
  for (std::size_t i = 0; i < 1000; ++i) {
    const double oscillation = i % 2 == 1 ? 0 : (i % 4 == 0 ? 0.15 : -0.15);
    comparison.before[0].pieces[0][i].gpu_seconds = 1 + oscillation + 0.05 * slow;
    comparison.after[0].pieces[0][i].gpu_seconds = 1 + 0.01 * other;
    slow = 0.97 * slow + std::sqrt(1 - 0.97 * 0.97) * random.Normal();
    other = 0.95 * other + std::sqrt(1 - 0.95 * 0.95) * random.Normal();
  }
  const SavingVerdict verdict = Judge(comparison);
  ASSERT_TRUE(verdict.bootstrap);
  EXPECT_LT(*verdict.before.tau, 3);
  EXPECT_TRUE(verdict.bootstrap_is_wider);
  EXPECT_TRUE(Has(verdict, "bootstrap_wider")) << Ids(verdict);
  EXPECT_EQ(verdict.saving->low, verdict.bootstrap->low);
  EXPECT_GT(verdict.saving90->low, verdict.saving->low);
}

TEST(JudgeTest, AlternatingRunsMayRunSideBySideOnTheirOwnGpus) {
  Comparison comparison = Interleaved(0.2);
  comparison.after[1].start = Hour(2.2);
  EXPECT_EQ(Judge(comparison).verdict, Verdict::kInvalid);
  for (MeasuredRun& run : comparison.before) run.gpus = {"GPU-a", "GPU-b"};
  for (MeasuredRun& run : comparison.after) run.gpus = {"GPU-c"};
  EXPECT_EQ(Judge(comparison).verdict, Verdict::kVerified) << Ids(Judge(comparison));
  comparison.after[1].gpus = {"GPU-c", "GPU-b"};
  EXPECT_TRUE(Has(Judge(comparison), "overlap"));
}

TEST(JudgeTest, RunsWithoutNoiseGiveAPoint) {
  Comparison comparison;
  for (int i = 0; i < 6; ++i) {
    MeasuredRun run = WithRows(2 * i, 100);
    for (WorkRow& row : run.pieces[0]) row.gpu_seconds = i % 2 == 0 ? 1 : 0.75;
    run.gpu_seconds = i % 2 == 0 ? 100 : 75;
    (i % 2 == 0 ? comparison.before : comparison.after).push_back(run);
  }
  const SavingVerdict verdict = Judge(comparison);
  EXPECT_EQ(verdict.saving->low, 0.25);
  EXPECT_EQ(verdict.saving->high, 0.25);
  EXPECT_EQ(verdict.fsu, 0);
}

TEST(JudgeTest, TheSameComparisonGivesTheSameVerdictToTheBit) {
  Comparison comparison;
  comparison.before = {WithRows(1, 400)};
  comparison.after = {WithRows(3, 400)};
  const SavingVerdict a = Judge(comparison);
  const SavingVerdict b = Judge(comparison);
  EXPECT_EQ(a.bootstrap->low, b.bootstrap->low);
  EXPECT_EQ(a.saving->low, b.saving->low);
  comparison.seed = 2;
  EXPECT_NE(Judge(comparison).bootstrap->low, a.bootstrap->low);
}

Comparison Switchback(int pairs, double effect) {
  Comparison comparison;
  comparison.claim.emplace();
  comparison.claim->design = ClaimDesign::kSwitchback;
  comparison.claim->written = Hour(-1);
  for (int i = 0; i < pairs; ++i) {
    const bool after_first = i % 3 == 0;
    const double drift = 1 - 0.01 * i;
    const double noise = kNoise.at(static_cast<std::size_t>(i % 5));
    comparison.before.push_back(Totals(2 * i + (after_first ? 1 : 0), drift));
    comparison.after.push_back(Totals(2 * i + (after_first ? 0 : 1), drift * noise * (1 - effect)));
  }
  return comparison;
}

TEST(JudgeTest, ASwitchbackIsJudgedByItsPairs) {
  const SavingVerdict verdict = Judge(Switchback(10, 0.2));
  EXPECT_EQ(verdict.verdict, Verdict::kVerified) << Ids(verdict);
  EXPECT_EQ(verdict.pairs, 10);
  EXPECT_TRUE(Has(verdict, "washout_not_dropped"));
  double mean = 0;
  for (const double noise : kNoise) mean += std::log(0.8 * noise) / 5;
  double squares = 0;
  for (const double noise : kNoise) squares += 2 * std::pow(std::log(0.8 * noise) - mean, 2);
  const double half = 2.262157 * std::sqrt(squares / 9 / 10);  // t of 9 degrees of freedom
  EXPECT_NEAR(*verdict.fraction, 1 - std::exp(mean), 1e-12);
  EXPECT_NEAR(verdict.saving->low, 1 - std::exp(mean + half), 1e-7);
  EXPECT_NEAR(verdict.saving->high, 1 - std::exp(mean - half), 1e-7);
}

TEST(JudgeTest, AFewPairsOrOneOrderDoNotSuffice) {
  EXPECT_EQ(Judge(Switchback(7, 0.2)).verdict, Verdict::kIndicated);
  EXPECT_TRUE(Has(Judge(Switchback(7, 0.2)), "few_pairs"));
  EXPECT_EQ(Judge(Switchback(2, 0.2)).verdict, Verdict::kNotShown);
  Comparison one_order = Switchback(10, 0.2);
  for (int i = 0; i < 10; ++i) {
    const auto pair = static_cast<std::size_t>(i);
    one_order.before[pair].start = Hour(2 * i);
    one_order.before[pair].end = Hour(2 * i + 0.5);
    one_order.after[pair].start = Hour(2 * i + 1);
    one_order.after[pair].end = Hour(2 * i + 1.5);
  }
  EXPECT_TRUE(Has(Judge(one_order), "fixed_order"));
  EXPECT_EQ(Judge(one_order).verdict, Verdict::kIndicated);
}

TEST(JudgeTest, ASequentialSwitchbackWaitsForItsFirstLook) {
  Comparison early = Switchback(19, 0.2);
  early.claim->stop = StopRule::kSequential;
  EXPECT_EQ(Judge(early).verdict, Verdict::kNotShown);
  EXPECT_TRUE(Has(Judge(early), "before_first_look"));
  Comparison later = Switchback(20, 0.2);
  later.claim->stop = StopRule::kSequential;
  const SavingVerdict verdict = Judge(later);
  EXPECT_EQ(verdict.verdict, Verdict::kVerified) << Ids(verdict);
  EXPECT_TRUE(verdict.sequential);
  double mean = 0;
  for (const double noise : kNoise) mean += std::log(0.8 * noise) / 5;
  double squares = 0;
  for (const double noise : kNoise) squares += 4 * std::pow(std::log(0.8 * noise) - mean, 2);
  const double half = SequenceHalfWidth(20, std::sqrt(squares / 19), 0.05);
  EXPECT_NEAR(verdict.saving->low, 1 - std::exp(mean + half), 1e-9);
}

// A line with a fixed cost: runs of very different size, where the ratio of sums would misjudge.
TEST(JudgeTest, ALinearBaselineTakesTheFixedCostOut) {
  Comparison comparison;
  comparison.claim.emplace();
  comparison.claim->model = BaselineModel::kLinear;
  comparison.claim->written = Hour(-1);
  for (int i = 0; i < 24; ++i) {
    const bool after = i % 2 == 1;
    MeasuredRun run = Totals(i, 1);
    run.work = after ? 2000 + 100 * (i % 7) : 400 + 100 * (i % 11);
    const double noise = 5 * (kNoise.at(static_cast<std::size_t>(i * 3 % 5)) - 1);
    run.gpu_seconds = (500 + run.work) * (1 + 0.1 * noise) * (after ? 0.9 : 1);
    (after ? comparison.after : comparison.before).push_back(run);
  }
  const SavingVerdict verdict = Judge(comparison);
  ASSERT_TRUE(verdict.model) << Ids(verdict);
  EXPECT_NEAR(verdict.model->fixed, 500, 25);
  EXPECT_NEAR(verdict.model->per_unit, 1, 0.03);
  EXPECT_NEAR(*verdict.fraction, 0.1, 0.02);
  EXPECT_EQ(verdict.verdict, Verdict::kVerified) << Ids(verdict);
  comparison.claim->model = BaselineModel::kRatio;
  EXPECT_GT(*Judge(comparison).fraction, 0.3);  // the larger runs carry the fixed cost lightly
}

TEST(JudgeTest, EveryReasonIsDocumentedAndSaysWhatWouldSettleIt) {
  std::ifstream in(IDLEBURN_ROOT "/docs/verification.md");
  const std::string document(std::istreambuf_iterator<char>(in), {});
  ASSERT_FALSE(document.empty());
  for (const ReasonRow& row : ReasonTable()) {
    EXPECT_NE(document.find("`" + std::string(row.id) + "`"), std::string::npos) << row.id;
    EXPECT_FALSE(row.settle.empty()) << row.id;
    EXPECT_EQ(std::count_if(ReasonTable().begin(), ReasonTable().end(),
                            [&row](const ReasonRow& other) { return other.id == row.id; }),
              1)
        << row.id;
  }
}

// A fixed interval of the baseline and a sequence of the runs, each at half the error.
TEST(JudgeTest, LooksAfterOneBaselineByHand) {
  Comparison comparison = Interleaved(0.2);
  comparison.claim->stop = StopRule::kSequential;
  for (int i = 0; i < 15; ++i)
    comparison.after.push_back(Totals(20 + i, 0.8 * kNoise.at(static_cast<std::size_t>(i % 5))));
  double mean = 0;
  for (const double noise : kNoise) mean += std::log(noise) / 5;
  double squares = 0;
  for (const double noise : kNoise) squares += (std::log(noise) - mean) * (std::log(noise) - mean);
  const double before = std::sqrt(squares / 4 / 5);
  const double after = std::sqrt(4 * squares / 19);  // 20 runs, each of the five values four times
  const double spread = 20 * 0.3 * 0.3 + 1;
  const double moving = after * std::sqrt(spread / (20 * 20 * 0.09) * std::log(spread / (0.025 * 0.025)));
  const double fixed = 3.495406 * before;  // t(4) at 1 - 0.05 / 4
  double ratio = 0;
  for (const double noise : kNoise) ratio += noise / 5;
  const double change = std::log(0.8) + mean - std::log(ratio);
  const SavingVerdict verdict = Judge(comparison);
  ASSERT_TRUE(verdict.saving) << Ids(verdict);
  EXPECT_TRUE(verdict.sequential);
  EXPECT_NEAR(*verdict.fraction, 1 - std::exp(change), 1e-12);
  EXPECT_NEAR(verdict.saving->low, 1 - std::exp(change + fixed + moving), 1e-6);
  EXPECT_NEAR(verdict.saving->high, 1 - std::exp(change - fixed - moving), 1e-6);
}

}  // namespace
}  // namespace idleburn
