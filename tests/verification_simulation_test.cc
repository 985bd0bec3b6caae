// The error rates and the power that docs/verification.md requires of the verdicts, by simulation. Every bound is held
// within two standard errors of a share at the bound itself, sqrt(p (1 - p) / n): a bound that is met lies within them
// in 97 of 100 draws, and the draws are fixed. Prints what it found.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

#include "stats/order.h"
#include "support/noisy_runs.h"
#include "verify/effect.h"
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

bool HasReason(const SavingVerdict& verdict, std::string_view id) {
  return std::any_of(verdict.reasons.begin(), verdict.reasons.end(),
                     [id](const VerdictReason& reason) { return reason.id == id; });
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

TEST(VerificationSimulation, DriftOverTheRuns) {
  constexpr std::array<RunsCase, 3> kCases = {{{"5 runs, 1 %, drift -10 %", 5, 0.01, -0.1, false},
                                               {"5 runs, 1 %, drift +10 %", 5, 0.01, 0.1, false},
                                               {"interleaved, drift -10 %", 5, 0.01, -0.1, true}}};
  std::printf("| drift                      | false | guard refuses | +20 %% |\n");
  NoiseSource noise(78);
  for (const RunsCase& c : kCases) {
    Share decided;
    Share guarded;
    for (int i = 0; i < 600; ++i) {
      const SavingVerdict verdict = JudgeRuns(c, 0, noise);
      decided.Count(verdict.verdict == Verdict::kVerified || verdict.verdict == Verdict::kRegression);
      guarded.Count(HasReason(verdict, "drift_not_excluded"));
    }
    const Tally twenty = TallyRuns(c, 0.20, 200, noise);
    std::printf("| %-26s | %.3f | %.3f         | %.3f |\n", c.name, decided.Value(), guarded.Value(),
                twenty.verified.Value());
    ExpectAtMost(decided, 0.05, std::string(c.name) + ": false VERIFIED or REGRESSION");
    if (c.interleaved) ExpectAtLeast(twenty.verified, 0.95, std::string(c.name) + ": VERIFIED at a true 20 %");
  }
}

// One series of 1,200 rows in which the setting alternates, against the same rows before and after.

struct DriftingSeries {
  double phi;
  double drift;  // of the mean, over the whole series
};

std::vector<double> DrawDrifting(const DriftingSeries& c, NoiseSource& noise) {
  constexpr int kRows = 1200;
  std::vector<double> factors = noise.Series({NoiseShape::kNormal, c.phi, 0.15}, kRows);
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] *= 1 + c.drift * static_cast<double>(i) / kRows;
  return factors;
}

SavingVerdict JudgeSwitchback(const std::vector<double>& factors, double effect, NoiseSource& noise) {
  constexpr std::size_t kBlock = 75;
  Comparison comparison;
  comparison.claim = EarlyClaim();
  comparison.claim->design = ClaimDesign::kSwitchback;
  bool after = false;
  for (std::size_t begin = 0; begin < factors.size(); begin += kBlock) {
    after = begin / kBlock % 2 == 1 ? !after : noise.Uniform() < 0.5;
    const auto first = factors.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<MeasuredRun>& side = after ? comparison.after : comparison.before;
    side.push_back(MakeRun("block", static_cast<double>(begin), {first, first + kBlock}, after ? 1 - effect : 1,
                           RowShape::kConstantWork, noise));
  }
  return Judge(comparison);
}

SavingVerdict JudgeHalves(const std::vector<double>& factors, NoiseSource& noise) {
  Comparison comparison;
  comparison.claim = EarlyClaim();
  comparison.resamples = kResamples;
  const auto middle = factors.begin() + static_cast<std::ptrdiff_t>(factors.size() / 2);
  comparison.before.push_back(MakeRun("before", 0, {factors.begin(), middle}, 1, RowShape::kConstantWork, noise));
  comparison.after.push_back(MakeRun("after", static_cast<double>(factors.size() / 2), {middle, factors.end()}, 1,
                                     RowShape::kConstantWork, noise));
  return Judge(comparison);
}

TEST(VerificationSimulation, SwitchbackSeesNoDrift) {
  constexpr std::array<DriftingSeries, 4> kCases = {{{0, 0}, {0, -0.1}, {0.9, 0}, {0.9, -0.1}}};
  std::printf(
      "| phi, drift    | before/after false | switchback false, coverage, verdicts | above 0, VERIFIED at +10 %% |\n");
  NoiseSource noise(79);
  for (const DriftingSeries& c : kCases) {
    Tally halves;
    Tally switched;
    Tally ten;
    for (int i = 0; i < 600; ++i) {
      const std::vector<double> factors = DrawDrifting(c, noise);
      halves.Count(JudgeHalves(factors, noise), 0);
      switched.Count(JudgeSwitchback(factors, 0, noise), 0);
      ten.Count(JudgeSwitchback(factors, 0.1, noise), 0.1);
    }
    std::printf("| %.1f, %4.0f %%   | %.3f              | %.3f, %.3f, %.3f                  | %.3f, %.3f |\n", c.phi,
                100 * c.drift, halves.excludes_zero.Value(), switched.excludes_zero.Value(), switched.covers.Value(),
                switched.decided.Value(), ten.above.Value(), ten.verified.Value());
    const std::string name = "phi " + std::to_string(c.phi) + ", drift " + std::to_string(c.drift);
    ExpectAtMost(switched.excludes_zero, 0.05, name + ": null intervals of a switchback that exclude 0");
    ExpectAtLeast(switched.covers, 0.95, name + ": coverage of a switchback");
    ExpectAtMost(switched.decided, 0.05, name + ": false VERIFIED or REGRESSION");
    ExpectAtLeast(ten.above, 0.71, name + ": above 0 at a true 10 %");
    // What the switchback is for.
    if (c.drift != 0) {
      EXPECT_GT(halves.excludes_zero.Value(), c.phi == 0 ? 0.98 : 0.2) << name;
    }
  }
}

TEST(VerificationSimulation, TheSequenceHoldsAtEveryLook) {
  constexpr int kLooks = 2000;
  NoiseSource noise(80);
  Share wrong;
  for (int i = 0; i < 1500; ++i) {
    double mean = 0;
    double squares = 0;
    bool excluded = false;
    for (int n = 1; n <= kLooks && !excluded; ++n) {
      const double value = noise.Normal();
      const double away = value - mean;
      mean += away / n;
      squares += away * (value - mean);
      excluded = n >= kSequenceFirstLook && std::abs(mean) > SequenceHalfWidth(n, std::sqrt(squares / (n - 1)), 0.05);
    }
    wrong.Count(excluded);
  }
  std::printf("| a switchback looked at after every of 2,000 pairs: false %.3f |\n", wrong.Value());
  ExpectAtMost(wrong, 0.06, "switchback pairs, any look");
}

TEST(VerificationSimulation, OneFixedBaselineHoldsAtEveryLook) {
  constexpr double kDeviation = 0.1;  // of ln R of a batch
  constexpr int kBaselineBatches = 60;
  NoiseSource noise(82);
  Share wrong;
  for (int i = 0; i < 300; ++i) {
    SideEstimate baseline;
    baseline.relative_error = kDeviation / std::sqrt(kBaselineBatches);
    baseline.df = kBaselineBatches - 1;
    baseline.ratio = std::exp(baseline.relative_error * noise.Normal());
    std::vector<double> after;
    bool excluded = false;
    while (after.size() < 500 && !excluded) {
      after.push_back(kDeviation * noise.Normal());
      if (after.size() < kSequenceFirstLook) continue;
      const SavingInterval interval = IntervalOf(EffectAfterBaseline(baseline, after), 0.95);
      excluded = interval.low > 0 || interval.high < 0;
    }
    wrong.Count(excluded);
  }
  std::printf("| batches after one fixed baseline, looked at 500 times: false %.3f |\n", wrong.Value());
  ExpectAtMost(wrong, 0.05, "fixed baseline, any look");
}

// The worst tenth of 200 jobs by ln R of week 1, nothing changed.
Comparison WorstTenth(double reliability, std::vector<JobPair>& jobs, NoiseSource& noise) {
  constexpr std::size_t kJobs = 200;
  constexpr double kWeek = 7 * 86400;
  const double rest = std::sqrt(1 - reliability);
  for (std::size_t i = 0; i < kJobs; ++i) {
    const double own = std::sqrt(reliability) * noise.Normal();
    jobs.push_back({0.2 * (own + rest * noise.Normal()), 0.2 * (own + rest * noise.Normal()), false});
  }
  std::sort(jobs.begin(), jobs.end(), [](const JobPair& a, const JobPair& b) { return a.first > b.first; });
  Comparison comparison;
  comparison.claim = EarlyClaim();
  for (std::size_t i = 0; i < kJobs / 10; ++i) {
    jobs[i].chosen = true;
    for (const bool after : {false, true}) {
      const double start = (after ? kWeek : 0) + kWeek * noise.Uniform() * 0.9;
      MeasuredRun run =
          MakeRun("job", start, {1}, std::exp(after ? jobs[i].second : jobs[i].first), RowShape::kConstantWork, noise);
      run.pieces.clear();
      (after ? comparison.after : comparison.before).push_back(std::move(run));
    }
  }
  return comparison;
}

TEST(VerificationSimulation, TheWorstTenthIsNeverVerified) {
  NoiseSource noise(81);
  Share unsaid;
  Share said;
  Share called_all;
  Share corrected;
  for (int repetition = 0; repetition < 400; ++repetition) {
    std::vector<JobPair> jobs;
    Comparison comparison = WorstTenth(0.5 + 0.2 * (repetition % 3), jobs, noise);
    unsaid.Count(Judge(comparison).verdict == Verdict::kVerified);
    comparison.claim->choice = BaselineChoice::kAll;
    called_all.Count(Judge(comparison).verdict == Verdict::kVerified);
    comparison.claim->choice = BaselineChoice::kWorst;
    said.Count(Judge(comparison).verdict == Verdict::kVerified);
    comparison.reversion = AsExpected(*ReadReversion(jobs, 0.95));
    corrected.Count(Judge(comparison).verdict == Verdict::kVerified);
  }
  std::printf(
      "| worst tenth of jobs, nothing changed: VERIFIED %.3f unsaid, %.3f said, %.3f with its reversion taken off, "
      "%.3f if the claim is false |\n",
      unsaid.Value(), said.Value(), corrected.Value(), called_all.Value());
  EXPECT_EQ(unsaid.hits, 0);
  EXPECT_EQ(said.hits, 0);
  ExpectAtMost(corrected, 0.05, "reversion taken off");
  EXPECT_GT(called_all.Value(), 0.1) << "this is no trap any more";
}

// The worst of ten times as many runs of one and the same job, nothing changed: what they lose is all of their badness.
// The history knows the others, or nobody does.
Comparison WorstRuns(std::size_t runs, NoiseSource& noise) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < 10 * runs; ++i) logs.push_back(0.03 * noise.Normal());
  std::sort(logs.begin(), logs.end(), std::greater<>());
  Comparison comparison;
  comparison.claim = EarlyClaim();
  comparison.known.emplace();
  comparison.known->baseline.assign(logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(runs));
  comparison.known->others.assign(logs.begin() + static_cast<std::ptrdiff_t>(runs), logs.end());
  std::vector<double> picked = comparison.known->baseline;
  for (std::size_t i = 0; i < runs; ++i) {  // in which they came is drawn
    std::swap(picked[i], picked[i + static_cast<std::size_t>(noise.Uniform() * static_cast<double>(runs - i))]);
  }
  for (std::size_t i = 0; i < 2 * runs; ++i) {
    const double log = i < runs ? picked[i] : 0.03 * noise.Normal();
    MeasuredRun run = MakeRun("run", 3600 * static_cast<double>(i), {1}, std::exp(log), RowShape::kConstantWork, noise);
    run.pieces.clear();
    (i < runs ? comparison.before : comparison.after).push_back(std::move(run));
  }
  return comparison;
}

TEST(VerificationSimulation, TheWorstRunsOfOneJob) {
  std::printf("| worst runs of ten times as many | called all | nothing known | known to the history |\n");
  NoiseSource noise(83);
  for (const std::size_t runs : {std::size_t{3}, std::size_t{5}, std::size_t{20}}) {
    Share called_all;
    Share unknown;
    Share known;
    for (int repetition = 0; repetition < 500; ++repetition) {
      Comparison comparison = WorstRuns(runs, noise);
      known.Count(Judge(comparison).verdict == Verdict::kVerified);
      comparison.known.reset();
      unknown.Count(Judge(comparison).verdict == Verdict::kVerified);
      comparison.claim->choice = BaselineChoice::kAll;
      called_all.Count(Judge(comparison).verdict == Verdict::kVerified);
    }
    std::printf("| %2zu | %.3f | %.3f | %.3f |\n", runs, called_all.Value(), unknown.Value(), known.Value());
    EXPECT_EQ(known.hits, 0) << runs;
    ExpectAtMost(unknown, 0.1, std::to_string(runs) + " worst runs of which nothing is known");
    EXPECT_GT(called_all.Value(), unknown.Value());
  }
}

// 36,000 rows with a slow component of 3 %, correlation time 1,500 rows: out of reach of lags over single rows, seen in
// sums of 36.
TEST(VerificationSimulation, SlowNoiseIsSeenInSummedRows) {
  constexpr int kRows = 36'000;
  constexpr double kSlowPhi = 1 - 2.0 / 1501;  // (1 + phi) / (1 - phi) = 1,500
  NoiseSource noise(83);
  Share excludes;
  Share refused;
  for (int repetition = 0; repetition < 200; ++repetition) {
    Comparison comparison;
    comparison.resamples = kResamples;
    for (const bool after : {false, true}) {
      std::vector<double> factors = noise.Series({NoiseShape::kNormal, kSlowPhi, 0.03}, kRows);
      for (double& factor : factors) factor += 0.05 * noise.Normal();
      (after ? comparison.after : comparison.before)
          .push_back(MakeRun("run", after ? kRows : 0, factors, 1, RowShape::kConstantWork, noise));
    }
    const SavingVerdict verdict = Judge(comparison);
    refused.Count(!verdict.saving);
    excludes.Count(verdict.saving && (verdict.saving->low > 0 || verdict.saving->high < 0));
  }
  std::printf("| slow noise in 36,000 rows: false %.3f, refused %.3f |\n", excludes.Value(), refused.Value());
  ExpectAtMost(excludes, 0.053, "slow noise");  // as measured by the reference
}

// Avoided GPU-seconds by a line with a fixed cost, 10 % saved: covered, cautiously where segments are few.
TEST(VerificationSimulation, TheLinearModelCovers) {
  struct LineCase {
    int segments;
    double phi;  // of the residuals, from run to run
  };
  constexpr std::array<LineCase, 6> kCases = {{{12, 0}, {12, 0.5}, {40, 0}, {40, 0.5}, {120, 0}, {120, 0.5}}};
  std::printf("| linear model, segments, phi | coverage |\n");
  NoiseSource noise(84);
  for (const LineCase& c : kCases) {
    Share covers;
    for (int repetition = 0; repetition < 500; ++repetition) {
      std::array<std::vector<WorkSegment>, 2> sides;
      double expected = 0;
      double used = 0;
      for (const bool after : {false, true}) {
        for (const double factor : noise.Series({NoiseShape::kNormal, c.phi, 1}, c.segments)) {
          const double work = 1000 * (1 + noise.Uniform());
          const double truth = 500 + work;
          sides.at(after ? 1U : 0U).push_back({work, truth * (after ? 0.9 : 1) + 100 * (factor - 1)});
          if (after) expected += truth;
          if (after) used += truth * 0.9;
        }
      }
      if (!FaultOfLinearBaseline(sides[0], sides[1]).empty()) continue;
      const LinearReading reading = ReadLinear(sides[0], sides[1]);
      const SavingInterval interval = IntervalOf(reading.effect, 0.95);
      const double truth = 1 - used / expected;
      covers.Count(interval.low <= truth && truth <= interval.high);
    }
    std::printf("| %3d, %.1f                    | %.3f    |\n", c.segments, c.phi, covers.Value());
    ExpectAtLeast(covers, 0.95, std::to_string(c.segments) + " segments");
  }
}

}  // namespace
}  // namespace idleburn
