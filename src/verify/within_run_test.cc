#include "verify/within_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "stats/random.h"
#include "verify/measured_run.h"

namespace idleburn {

namespace {

struct TwinEstimate {
  double e2 = 0;
  double n_eff = 0;
  double df = 0;
  double tau = 0;
};

// docs/verification.md, "The interval", line by line, for one contiguous run of at most 1,000 rows.
TwinEstimate NaiveTwin(const std::vector<double>& g, const std::vector<double>& w) {
  const auto n = static_cast<double>(g.size());
  double sum_g = 0;
  double sum_w = 0;
  for (std::size_t k = 0; k < g.size(); ++k) {
    sum_g += g[k];
    sum_w += w[k];
  }
  const double R = sum_g / sum_w;
  const double wbar = sum_w / n;
  std::vector<double> z;
  for (std::size_t k = 0; k < g.size(); ++k) z.push_back((g[k] - R * w[k]) / wbar);
  double v = 0;
  for (const double value : z) v += value * value / (n - 1);
  const auto rho = [&](std::size_t lag) {
    double top = 0;
    double bottom = 0;
    for (std::size_t k = 0; k < z.size(); ++k) {
      bottom += z[k] * z[k] / n;
      if (k + lag < z.size()) top += z[k] * z[k + lag] / n;
    }
    return top / bottom;
  };
  double pairs = 0;
  double K = 0;
  for (std::size_t j = 0; static_cast<double>(2 * j + 1) < n / 3; ++j) {
    const double pair = rho(2 * j) + rho(2 * j + 1);
    if (pair <= 0) break;
    pairs += pair;
    K = static_cast<double>(2 * j + 1);
  }
  double tau = std::max(1.0, 2 * pairs - 1);
  tau = tau / (1 - (2 * K + 1) / n);
  return {v * tau / n / (R * R), n / tau, std::max(2.0, n / (2 * K + 1) - 1), tau};
}

struct Drawn {
  std::vector<double> g, w;
  WorkPiece rows;
};

Drawn Draw(std::size_t n, double phi, Random& random, double begin_s = 0) {
  Drawn drawn;
  double x = random.Normal();
  for (std::size_t i = 0; i < n; ++i) {
    drawn.w.push_back(0.5 + random.Uniform());
    drawn.g.push_back(drawn.w.back() * (2 + 0.3 * x));
    drawn.rows.push_back({Instant::FromNanos(static_cast<std::int64_t>((begin_s + static_cast<double>(i)) * 1e9)),
                          drawn.g.back(), drawn.w.back()});
    x = phi * x + std::sqrt(1 - phi * phi) * random.Normal();
  }
  return drawn;
}

MeasuredRun RunOf(std::vector<WorkPiece> pieces) {
  MeasuredRun run;
  run.unit = WorkUnit::kStep;
  for (const WorkPiece& piece : pieces) {
    run.gpu_seconds += SumOf(piece).gpu_seconds;
    run.work += SumOf(piece).work;
  }
  run.pieces = std::move(pieces);
  return run;
}

TEST(WithinRunTest, AgreesWithTheFormulaWrittenFromTheText) {
  Random random(11);
  for (const double phi : {0.0, 0.5, 0.9, -0.6}) {
    for (const std::size_t n : {4U, 7U, 30U, 601U, 1000U}) {
      const Drawn drawn = Draw(n, phi, random);
      const TwinEstimate twin = NaiveTwin(drawn.g, drawn.w);
      const RunEstimate run = EstimateRun(RunOf({drawn.rows}));
      ASSERT_TRUE(run.rows_estimate);
      EXPECT_NEAR(run.rows_estimate->variance, twin.e2, 1e-9 * twin.e2) << phi << " " << n;
      EXPECT_NEAR(run.rows_estimate->n_eff, twin.n_eff, 1e-9 * twin.n_eff);
      EXPECT_NEAR(run.rows_estimate->df, twin.df, 1e-9 * twin.df);
      EXPECT_NEAR(run.rows_estimate->tau, twin.tau, 1e-9 * twin.tau);
    }
  }
}

TEST(WithinRunTest, LongRunsAreSummedFirst) {
  Random random(12);
  const Drawn drawn = Draw(6000, 0.9, random);
  std::vector<double> g(1000, 0);
  std::vector<double> w(1000, 0);
  for (std::size_t i = 0; i < 6000; ++i) {
    g[i / 6] += drawn.g[i];
    w[i / 6] += drawn.w[i];
  }
  const TwinEstimate twin = NaiveTwin(g, w);
  const RunEstimate run = EstimateRun(RunOf({drawn.rows}));
  EXPECT_NEAR(run.rows_estimate->variance, twin.e2, 1e-9 * twin.e2);
  EXPECT_EQ(run.rows, 6000);
}

// sum (G_p / G)^2 e_p^2, n_eff and Welch's degrees of freedom over the pieces.
TEST(WithinRunTest, PiecesAcrossAGapAreCombinedLikeRuns) {
  Random random(13);
  const Drawn a = Draw(300, 0.5, random);
  const Drawn b = Draw(500, 0.5, random, 1000);
  const TwinEstimate ta = NaiveTwin(a.g, a.w);
  const TwinEstimate tb = NaiveTwin(b.g, b.w);
  const double ga = SumOf(a.rows).gpu_seconds;
  const double gb = SumOf(b.rows).gpu_seconds;
  const double ea = ga * ga / (ga + gb) / (ga + gb) * ta.e2;
  const double eb = gb * gb / (ga + gb) / (ga + gb) * tb.e2;
  const RunEstimate run = EstimateRun(RunOf({a.rows, b.rows}));
  EXPECT_NEAR(run.rows_estimate->variance, ea + eb, 1e-9 * ea);
  EXPECT_NEAR(run.rows_estimate->n_eff, ta.n_eff + tb.n_eff, 1e-6);
  EXPECT_NEAR(run.rows_estimate->df, (ea + eb) * (ea + eb) / (ea * ea / ta.df + eb * eb / tb.df), 1e-6);
}

TEST(WithinRunTest, AShortPieceTakesTheTauOfTheLongOnes) {
  Random random(14);
  const Drawn longer = Draw(900, 0.9, random);
  const Drawn shorter = Draw(20, 0.9, random, 2000);  // about one correlation time
  const TwinEstimate twin = NaiveTwin(longer.g, longer.w);
  const RunEstimate run = EstimateRun(RunOf({longer.rows, shorter.rows}));
  EXPECT_NEAR(run.rows_estimate->tau, twin.tau, 1e-9);
  EXPECT_NEAR(run.rows_estimate->n_eff, 920 / twin.tau, 1e-6);
}

// 300 pieces of three rows: none knows its correlation, all together do.
TEST(WithinRunTest, ARunOfCrumbsIsTakenAsOneSeries) {
  Random random(15);
  const Drawn drawn = Draw(900, 0.9, random);
  std::vector<WorkPiece> crumbs;
  for (std::size_t i = 0; i < 900; i += 3) {
    crumbs.emplace_back(drawn.rows.begin() + static_cast<std::ptrdiff_t>(i),
                        drawn.rows.begin() + static_cast<std::ptrdiff_t>(i + 3));
  }
  const TwinEstimate twin = NaiveTwin(drawn.g, drawn.w);
  const RunEstimate run = EstimateRun(RunOf(crumbs));
  EXPECT_NEAR(run.rows_estimate->variance, twin.e2, 1e-9 * twin.e2);
}

TEST(WithinRunTest, WithoutWorkOrRowsThereIsNoEstimate) {
  EXPECT_FALSE(EstimateRun(RunOf({})).rows_estimate);
  EXPECT_FALSE(EstimateRun(RunOf({{{Instant(), 1, 1}}})).rows_estimate);
  EXPECT_FALSE(EstimateRun(RunOf({{{Instant(), 1, 0}, {Instant(), 1, 0}}})).rows_estimate);
}

TEST(WithinRunTest, APieceWithoutWorkGoesWithItsNeighbour) {
  Random random(16);
  const Drawn drawn = Draw(100, 0, random);
  WorkPiece start = {{Instant::FromNanos(-5), 7, 0}};
  const RunEstimate run = EstimateRun(RunOf({start, drawn.rows}));
  ASSERT_TRUE(run.rows_estimate);
  EXPECT_TRUE(std::isfinite(run.rows_estimate->variance));
  EXPECT_EQ(CountRows(run.rows_estimate->summed), 101U);
}

TEST(WithinRunTest, RowsThatDoNotVaryAreSure) {
  const WorkPiece rows(50, WorkRow{Instant(), 2, 1});
  const RunEstimate run = EstimateRun(RunOf({rows}));
  EXPECT_EQ(run.rows_estimate->variance, 0);
}

// Equally spaced runs in turn, trend .01 an hour and step -.3: found to the last digit, the interval is the point.
TEST(DriftGuardTest, TellsATrendFromAStep) {
  std::vector<DatedLog> runs;
  for (int i = 0; i < 8; ++i) runs.push_back({1000.0 + i, 0.01 * i - (i >= 4 ? 0.3 : 0), i >= 4});
  const std::optional<DriftGuard> guard = GuardOverRuns(runs, 0.95);
  ASSERT_TRUE(guard);
  EXPECT_NEAR(guard->delta, -0.3, 1e-9);
  EXPECT_NEAR(guard->high, -0.3, 1e-6);
  EXPECT_TRUE(OnTheSideOf(*guard, 0.26));
  EXPECT_FALSE(OnTheSideOf(*guard, -0.26));
  EXPECT_FALSE(OnTheSideOf(*guard, 0));
}

// Before and after, adjacent and equally long: the trend takes most of the step's certainty. By hand for runs at -2.5
// .. 2.5 with step at 0: the variance of the step is 4/6 / (1 - r^2) of the residual's, r^2 = 81/105 the squared
// correlation of trend and step.
TEST(DriftGuardTest, AdjacentSidesPayForTheTrend) {
  const std::array<double, 6> noise = {0.01, -0.02, 0.01, 0.02, -0.01, -0.01};
  std::vector<DatedLog> runs;
  for (std::size_t i = 0; i < 6; ++i) runs.push_back({static_cast<double>(i), noise.at(i), i >= 3});
  const std::optional<DriftGuard> guard = GuardOverRuns(runs, 0.95);
  ASSERT_TRUE(guard);
  // Residuals of the fit: sum of squares by the normal equations of trend and step.
  const double sxx = 17.5;
  const double sxs = 4.5;
  const double sss = 1.5;
  double sxy = 0;
  double ssy = 0;
  double syy = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    sxy += (static_cast<double>(i) - 2.5) * noise.at(i);
    ssy += (i >= 3 ? 0.5 : -0.5) * noise.at(i);
    syy += noise.at(i) * noise.at(i);
  }
  const double determinant = sxx * sss - sxs * sxs;
  const double trend = (sss * sxy - sxs * ssy) / determinant;
  const double step = (sxx * ssy - sxs * sxy) / determinant;
  const double variance = (syy - trend * sxy - step * ssy) / 3;
  const double half = 3.182446 * std::sqrt(variance * sxx / determinant);
  EXPECT_NEAR(guard->delta, step, 1e-12);
  EXPECT_NEAR(guard->low, step - half, 1e-7);
  EXPECT_NEAR(sxx / determinant, 4.0 / 6 / (1 - 81.0 / 105), 1e-12);
}

TEST(DriftGuardTest, CannotJudgeFewRunsOrOneInstant) {
  std::vector<DatedLog> runs;
  for (int i = 0; i < 5; ++i) runs.push_back({1.0 * i, 0.1 * (i % 2), i >= 3});
  EXPECT_FALSE(GuardOverRuns(runs, 0.95));  // two after
  runs.push_back({6, 0, true});
  EXPECT_TRUE(GuardOverRuns(runs, 0.95));
  for (DatedLog& run : runs) run.hours = run.after ? 2 : 1;  // trend and step are one
  EXPECT_FALSE(GuardOverRuns(runs, 0.95));
}

TEST(DriftGuardTest, OverRowsNeedsRowsWithWork) { EXPECT_FALSE(GuardOverRows({}, {}, 0.95)); }

}  // namespace

}  // namespace idleburn
