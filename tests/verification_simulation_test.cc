// The error rates and the power that docs/verification.md requires of the verdicts, by simulation. Every bound is held
// within two standard errors of a share at the bound itself, sqrt(p (1 - p) / n): a bound that is met lies within them
// in 97 of 100 draws, and the draws are fixed. Prints what it found.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "support/noisy_runs.h"
#include "verify/judge.h"

namespace idleburn {
namespace {

using testing::MakeRun;
using testing::NoiseShape;
using testing::NoiseSource;
using testing::NoiseSpec;
using testing::RowShape;

constexpr int kResamples = 200;  // of the bootstrap, which would cost most of the time; a verdict has 2,000

struct Share {
  int hits = 0;
  int of = 0;
  void Count(bool hit) {
    hits += hit ? 1 : 0;
    ++of;
  }
  [[nodiscard]] double Value() const { return of == 0 ? 0 : static_cast<double>(hits) / of; }
};

double Margin(double bound, int n) { return 2 * std::sqrt(bound * (1 - bound) / std::max(n, 1)); }

void ExpectAtMost(const Share& share, double bound, const std::string& what) {
  EXPECT_LE(share.Value(), bound + Margin(bound, share.of)) << what << ", of " << share.of;
}
void ExpectAtLeast(const Share& share, double bound, const std::string& what) {
  EXPECT_GE(share.Value(), bound - Margin(bound, share.of)) << what << ", of " << share.of;
}

// Claimed long before anything ran.
Claim EarlyClaim() {
  Claim claim;
  claim.unit = WorkUnit::kStep;
  claim.written = Instant::FromNanos(-1);
  return claim;
}

// What becomes of many verdicts on a case whose truth is known.
struct Tally {
  Share excludes_zero, given_enough, covers, covers_or_refused, above, below, refused, verified, regression, decided;
  double width = 0;
  int given = 0;

  void Count(const SavingVerdict& v, double truth) {
    const bool has = v.saving.has_value();
    refused.Count(!has);
    above.Count(has && v.saving->low > 0);
    below.Count(has && v.saving->high < 0);
    const bool excludes = has && (v.saving->low > 0 || v.saving->high < 0);
    excludes_zero.Count(excludes);
    const bool covered = has && v.saving->low <= truth && truth <= v.saving->high;
    covers_or_refused.Count(covered || !has);
    verified.Count(v.verdict == Verdict::kVerified);
    regression.Count(v.verdict == Verdict::kRegression);
    decided.Count(v.verdict == Verdict::kVerified || v.verdict == Verdict::kRegression);
    if (!has) return;
    covers.Count(covered);
    if (*v.before.n_eff >= 30 && *v.after.n_eff >= 30) given_enough.Count(excludes);
    width += v.saving->high - v.saving->low;
    ++given;
  }
};

// One series a side.

struct SeriesCase {
  const char* name;
  NoiseSpec noise;
  int n;
  double false_bound;
  double coverage_bound;
  double above_at_20;  // 0: none is required
  double given_bound;  // an interval is given
};

constexpr std::array<SeriesCase, 11> kSeriesCases = {{
    {"phi 0, n 600", {NoiseShape::kNormal, 0, 0.15}, 600, 0.05, 0.94, 0.99, 0.90},
    {"phi .5, n 600", {NoiseShape::kNormal, 0.5, 0.15}, 600, 0.05, 0.94, 0.99, 0.90},
    {"phi .9, n 600", {NoiseShape::kNormal, 0.9, 0.15}, 600, 0.05, 0.92, 0.90, 0.90},
    {"phi .98, n 600", {NoiseShape::kNormal, 0.98, 0.15}, 600, 0.05, 0, 0, 0},
    {"phi 0, n 3000", {NoiseShape::kNormal, 0, 0.15}, 3000, 0.05, 0.94, 0.99, 0.90},
    {"phi .5, n 3000", {NoiseShape::kNormal, 0.5, 0.15}, 3000, 0.05, 0.94, 0.99, 0.90},
    {"phi .9, n 3000", {NoiseShape::kNormal, 0.9, 0.15}, 3000, 0.05, 0.94, 0.99, 0.90},
    {"phi .98, n 3000", {NoiseShape::kNormal, 0.98, 0.15}, 3000, 0.05, 0.94, 0.85, 0.80},
    {"lognormal, phi 0, n 600", {NoiseShape::kLognormal, 0, 0}, 600, 0.07, 0.92, 0, 0.90},
    {"lognormal, phi .9, n 600", {NoiseShape::kLognormal, 0.9, 0}, 600, 0.07, 0.92, 0, 0.90},
    {"Pareto 2.2, phi .5, n 600", {NoiseShape::kPareto, 0.5, 0.15}, 600, 0.07, 0.92, 0, 0.90},
}};

SavingVerdict JudgeSeries(const SeriesCase& c, double effect, int repetition, NoiseSource& noise) {
  const auto shape = static_cast<RowShape>(repetition % 3);
  Comparison comparison;
  comparison.claim = EarlyClaim();
  comparison.resamples = kResamples;
  comparison.before.push_back(MakeRun("before", 0, noise.Series(c.noise, c.n), 1, shape, noise));
  comparison.after.push_back(MakeRun("after", c.n, noise.Series(c.noise, c.n), 1 - effect, shape, noise));
  return Judge(comparison);
}

Tally TallySeries(const SeriesCase& c, double effect, int repetitions, NoiseSource& noise) {
  Tally tally;
  for (int i = 0; i < repetitions; ++i) tally.Count(JudgeSeries(c, effect, i, noise), effect);
  return tally;
}

void RunSeriesCase(std::size_t index) {
  const SeriesCase& c = kSeriesCases[index];
  constexpr int kNulls = 900;
  constexpr int kEffects = 150;
  NoiseSource noise(1000 + index);
  const Tally null = TallySeries(c, 0, kNulls, noise);
  const Tally five = TallySeries(c, 0.05, kEffects, noise);
  const Tally twenty = TallySeries(c, 0.20, 2 * kEffects, noise);
  const Tally worse = TallySeries(c, -0.10, kEffects, noise);
  std::printf("| %-26s | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f | %.2f | %.3f |\n", c.name, null.excludes_zero.Value(),
              null.given_enough.Value(), null.covers.Value(), null.refused.Value(), five.above.Value(),
              twenty.above.Value(), worse.below.Value(), null.given == 0 ? 0 : null.width / null.given);
  const std::string name = c.name;
  ExpectAtMost(null.excludes_zero, c.false_bound, name + ": null intervals that exclude 0");
  if (c.coverage_bound > 0) {
    Share covers = null.covers;
    covers.hits += twenty.covers.hits;
    covers.of += twenty.covers.of;
    ExpectAtLeast(covers, c.coverage_bound, name + ": coverage at no effect and at 20 %");
  } else {
    ExpectAtLeast(null.covers_or_refused, 0.95, name + ": covered or refused");
  }
  Share given = null.refused;
  given.hits = given.of - given.hits;
  ExpectAtLeast(given, c.given_bound, name + ": an interval is given");
  ExpectAtLeast(twenty.above, c.above_at_20, name + ": above 0 at a true 20 %");
  for (const Tally* tally : {&null, &five, &twenty, &worse}) EXPECT_EQ(tally->decided.hits, 0) << name;
}

TEST(VerificationSimulation, OneSeriesASide) {
  std::printf("| one series a side          | false | given | cover | refus | +5 %% | +20 %% | -10 %% | width |\n");
  for (std::size_t i = 0; i < kSeriesCases.size(); ++i) RunSeriesCase(i);
}

// Several runs a side: 300 rows each, phi .5.

struct RunsCase {
  const char* name;
  int runs;
  double deviation;  // from run to run, of R
  double drift;      // of the mean, over all runs
  bool interleaved;
};

// The order in which the runs of both sides ran: true is after.
std::vector<bool> OrderOf(const RunsCase& c, NoiseSource& noise) {
  std::vector<bool> order;
  for (int i = 0; i < c.runs; ++i) {
    const bool after_first = c.interleaved && noise.Uniform() < 0.5;
    order.push_back(after_first);
    order.push_back(!after_first);
  }
  if (!c.interleaved) std::sort(order.begin(), order.end());
  return order;
}

SavingVerdict JudgeRuns(const RunsCase& c, double effect, NoiseSource& noise) {
  constexpr int kRows = 300;
  Comparison comparison;
  comparison.claim = EarlyClaim();
  comparison.resamples = kResamples;
  const std::vector<bool> order = OrderOf(c, noise);
  const double all_rows = kRows * static_cast<double>(order.size());
  for (std::size_t run = 0; run < order.size(); ++run) {
    std::vector<double> factors = noise.Series({NoiseShape::kNormal, 0.5, 0.15}, kRows);
    const double begin = static_cast<double>(run) * kRows;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      factors[i] *= 1 + c.drift * (begin + static_cast<double>(i)) / all_rows;
    }
    const double ratio = (order[run] ? 1 - effect : 1) * std::exp(c.deviation * noise.Normal());
    std::vector<MeasuredRun>& side = order[run] ? comparison.after : comparison.before;
    side.push_back(MakeRun("run " + std::to_string(run), begin, factors, ratio, RowShape::kConstantWork, noise));
  }
  return Judge(comparison);
}

Tally TallyRuns(const RunsCase& c, double effect, int repetitions, NoiseSource& noise) {
  Tally tally;
  for (int i = 0; i < repetitions; ++i) tally.Count(JudgeRuns(c, effect, noise), effect);
  return tally;
}

constexpr const char* kRunsHead = "| runs a side, run sd        | false | cover | +5 %  | +20 % | -10 % |\n";

TEST(VerificationSimulation, SeveralRunsASide) {
  struct Required {
    RunsCase c;
    double verified_at_20;
  };
  constexpr std::array<Required, 4> kCases = {{{{"3 runs, 1 %", 3, 0.01, 0, false}, 0.90},
                                               {{"3 runs, 3 %", 3, 0.03, 0, false}, 0.50},
                                               {{"5 runs, 1 %", 5, 0.01, 0, false}, 0.99},
                                               {{"5 runs, 3 %", 5, 0.03, 0, false}, 0.95}}};
  std::fputs(kRunsHead, stdout);
  NoiseSource noise(77);
  for (const Required& required : kCases) {
    const Tally null = TallyRuns(required.c, 0, 500, noise);
    const Tally five = TallyRuns(required.c, 0.05, 150, noise);
    const Tally twenty = TallyRuns(required.c, 0.20, 250, noise);
    const Tally worse = TallyRuns(required.c, -0.10, 150, noise);
    std::printf("| %-26s | %.3f | %.3f | %.3f | %.3f | %.3f |\n", required.c.name, null.decided.Value(),
                null.covers.Value(), five.verified.Value(), twenty.verified.Value(), worse.regression.Value());
    const std::string name = required.c.name;
    ExpectAtMost(null.decided, 0.05, name + ": false VERIFIED or REGRESSION");
    ExpectAtLeast(null.covers, 0.94, name + ": coverage");
    ExpectAtLeast(twenty.verified, required.verified_at_20, name + ": VERIFIED at a true 20 %");
  }
}

}  // namespace
}  // namespace idleburn
