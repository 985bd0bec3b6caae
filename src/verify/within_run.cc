#include "verify/within_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/least_squares.h"
#include "stats/order.h"
#include "stats/random.h"
#include "text/number.h"
#include "verify/measured_run.h"

// What the rows of a run say: the error of its ratio, a bootstrap as a cross-check, and the drift guard.
//
// Rows of one run are correlated. A slow minute follows a slow minute, so a thousand rows may be worth thirty. So every
// variance here is multiplied by tau, the number of rows that one independent reading takes (docs/verification.md, "The
// interval"). Taking rows as independent was rejected: at a correlation of .9 it finds effects in pure noise.

namespace idleburn {

namespace {

// Pieces shorter than so many correlation times cannot estimate their own.
constexpr double kShortPiece = 5;

// A contiguous stretch of rows by itself.
struct PieceEstimate {
  double gpu_seconds = 0;
  double n = 0;
  double spread = 0;  // variance of a row, relative to R^2
  double tau = 1;
  double windows = 0;  // lags in a window, 2K + 1: what one degree of freedom costs
  bool is_short = false;
};

// Estimates the spread and correlation of a piece by itself. A piece with a single row has no spread of its own.
PieceEstimate EstimatePiece(const WorkPiece& rows) {
  const WorkRow sum = SumOf(rows);
  PieceEstimate piece{sum.gpu_seconds, static_cast<double>(rows.size()), 0, 1, 1, false};
  if (rows.size() < 2 || sum.gpu_seconds <= 0) return piece;
  const std::vector<double> z = RatioResiduals(rows, sum.gpu_seconds / sum.work);
  piece.spread = std::inner_product(z.begin(), z.end(), z.begin(), 0.0) / (piece.n - 1);
  const CorrelationTime time = CorrelationTimeOf(z);
  piece.tau = time.tau;
  piece.windows = 2 * time.last_lag + 1;
  return piece;
}

// The mean over the pieces for which `counts` is true, weighted by their rows. Absent if there are none.
template <typename Value, typename Counts>
std::optional<double> WeightedMean(const std::vector<PieceEstimate>& pieces, Value value, Counts counts) {
  double sum = 0;
  double n = 0;
  for (const PieceEstimate& piece : pieces) {
    if (!counts(piece)) continue;
    sum += piece.n * value(piece);
    n += piece.n;
  }
  if (n == 0) return std::nullopt;
  return sum / n;
}

// Lets short pieces take tau and spread from the long ones. Around its own mean a short piece hardly varies, so its
// own estimate would be too good. Returns false if no piece is long.
bool LendToShortPieces(std::vector<PieceEstimate>& pieces) {
  const auto all = [](const PieceEstimate&) { return true; };
  const auto is_long = [](const PieceEstimate& p) { return !p.is_short; };
  const auto tau = [](const PieceEstimate& p) { return p.tau; };
  const double common = *WeightedMean(pieces, tau, all);
  for (PieceEstimate& piece : pieces) piece.is_short = piece.n < kShortPiece * std::max(piece.tau, common);
  const std::optional<double> lent_tau = WeightedMean(pieces, tau, is_long);
  if (!lent_tau) return false;
  const double spread = *WeightedMean(
      pieces, [](const PieceEstimate& p) { return p.spread; }, is_long);
  const double windows = *WeightedMean(
      pieces, [](const PieceEstimate& p) { return p.windows; }, is_long);
  for (PieceEstimate& piece : pieces) {
    if (!piece.is_short) continue;
    piece.tau = *lent_tau;
    // Around its own mean a short piece varies too little.
    piece.spread = std::max(piece.spread, spread);
    piece.windows = windows;
  }
  return true;
}

// Joins pieces by their shares of GPU time: pieces across a gap are independent.
RowsEstimate Combine(const std::vector<PieceEstimate>& pieces) {
  const double gpu_seconds = std::accumulate(pieces.begin(), pieces.end(), 0.0,
                                             [](double sum, const PieceEstimate& p) { return sum + p.gpu_seconds; });
  RowsEstimate run;
  std::vector<VarianceTerm> terms;
  double n = 0;
  for (const PieceEstimate& piece : pieces) {
    const double share = piece.gpu_seconds / gpu_seconds;
    terms.push_back(
        {share * share * piece.spread * piece.tau / piece.n, std::max(kLeastDf, piece.n / piece.windows - 1)});
    run.n_eff += piece.n / piece.tau;
    n += piece.n;
  }
  run.variance = TotalVariance(terms);
  // Rows that do not vary at all are certain.
  run.df = run.variance > 0 ? WelchDf(terms) : n;
  run.tau = *WeightedMean(
      pieces, [](const PieceEstimate& p) { return p.tau; }, [](const PieceEstimate&) { return true; });
  return run;
}

// All rows as one series, as if there were no gaps.
WorkPiece Concatenated(const std::vector<WorkPiece>& pieces) {
  WorkPiece all;
  for (const WorkPiece& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

// A piece without work has no ratio, so it joins its neighbour.
std::vector<WorkPiece> JoinPiecesWithoutWork(std::vector<WorkPiece> pieces) {
  std::vector<WorkPiece> joined;
  for (WorkPiece& piece : pieces) {
    if (!joined.empty() && (SumOf(piece).work <= 0 || SumOf(joined.back()).work <= 0)) {
      joined.back().insert(joined.back().end(), piece.begin(), piece.end());
    } else {
      joined.push_back(std::move(piece));
    }
  }
  return joined;
}

}  // namespace

std::vector<double> RatioResiduals(const WorkPiece& rows, double ratio) {
  const double expected = ratio * SumOf(rows).work / static_cast<double>(rows.size());
  std::vector<double> residuals;
  residuals.reserve(rows.size());
  for (const WorkRow& row : rows) residuals.push_back((row.gpu_seconds - ratio * row.work) / expected);
  return residuals;
}

RunEstimate EstimateRun(const MeasuredRun& run) {
  RunEstimate estimate{run.gpu_seconds, run.work, 0, std::nullopt};
  std::vector<WorkPiece> pieces;
  for (const WorkPiece& piece : run.pieces) pieces.push_back(run.telemetry ? MergeRepeated(piece) : piece);
  estimate.rows = static_cast<std::int64_t>(CountRows(pieces));
  std::vector<WorkPiece> summed = JoinPiecesWithoutWork(SumRows(pieces));
  const WorkRow sum = SumOf(Concatenated(summed));
  if (CountRows(summed) < 2 || sum.work <= 0 || sum.gpu_seconds <= 0) return estimate;
  std::vector<PieceEstimate> parts;
  for (const WorkPiece& piece : summed) parts.push_back(EstimatePiece(piece));
  // Gaps everywhere: all pieces together form one series with jumps, and its correlation is its own.
  if (parts.size() > 1 && !LendToShortPieces(parts)) {
    summed = {Concatenated(summed)};
    parts = {EstimatePiece(summed.front())};
  }
  estimate.rows_estimate = Combine(parts);
  estimate.rows_estimate->seconds_between_rows = SecondsBetweenRows(summed);
  estimate.rows_estimate->summed = std::move(summed);
  return estimate;
}

namespace {

// A block may be at most this share of a run: with fewer blocks, draws would hardly differ.
constexpr double kMostOfRun = 1.0 / 8;

// The sums of a draw.
struct Totals {
  double gpu_seconds = 0;
  double work = 0;
};

// A contiguous piece as running sums, so that a block costs two look-ups whatever its length.
class Resampled {
 public:
  Resampled(const WorkPiece& rows, double block)
      : sums_(rows.size() + 1),
        block_(std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(block)), 1, rows.size())) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      sums_[i + 1] = {sums_[i].gpu_seconds + rows[i].gpu_seconds, sums_[i].work + rows[i].work};
    }
  }
  void AddDraw(Random& random, Totals& totals) const {
    DrawBlocks(sums_.size() - 1, block_, random, [&](std::size_t begin, std::size_t end) {
      totals.gpu_seconds += sums_[end].gpu_seconds - sums_[begin].gpu_seconds;
      totals.work += sums_[end].work - sums_[begin].work;
    });
  }

 private:
  std::vector<Totals> sums_;
  std::size_t block_;
};

// The pieces of a side with their block lengths. All runs must have rows.
std::vector<Resampled> Prepare(std::span<const RunEstimate> runs, double tau) {
  std::vector<Resampled> pieces;
  for (const RunEstimate& run : runs) {
    const std::vector<WorkPiece>& rows = run.rows_estimate->summed;
    const double block = std::min(kBootstrapBlockTaus * tau, kMostOfRun * static_cast<double>(CountRows(rows)));
    for (const WorkPiece& piece : rows) pieces.emplace_back(piece, block);
  }
  return pieces;
}

// One draw of a side's ratio: every piece is drawn anew at its own length, so the weights of runs stay.
double DrawRatio(const std::vector<Resampled>& pieces, Random& random) {
  Totals totals;
  for (const Resampled& piece : pieces) piece.AddDraw(random, totals);
  return totals.gpu_seconds / totals.work;
}

}  // namespace

std::vector<double> BootstrapSavings(std::span<const RunEstimate> before, std::span<const RunEstimate> after,
                                     double tau, int resamples, Random& random, const ProgressWatch& draws) {
  const auto has_rows = [](const RunEstimate& run) { return run.rows_estimate.has_value(); };
  if (!std::all_of(before.begin(), before.end(), has_rows) || !std::all_of(after.begin(), after.end(), has_rows)) {
    return {};
  }
  const std::vector<Resampled> old_pieces = Prepare(before, tau);
  const std::vector<Resampled> new_pieces = Prepare(after, tau);
  std::vector<double> savings;
  savings.reserve(static_cast<std::size_t>(resamples));
  for (int i = 0; i < resamples; ++i) {
    const double old_ratio = DrawRatio(old_pieces, random);
    const double saving = 1 - DrawRatio(new_pieces, random) / old_ratio;
    // A draw of rows without any work has no ratio.
    if (std::isfinite(saving)) savings.push_back(saving);
    if (draws) draws(static_cast<std::uint64_t>(i) + 1, static_cast<std::uint64_t>(resamples));
  }
  std::sort(savings.begin(), savings.end());
  return savings;
}

SavingInterval QuantileInterval(std::span<const double> ascending, double fraction, double level) {
  return {fraction, SortedQuantile(ascending, (1 - level) / 2), SortedQuantile(ascending, (1 + level) / 2)};
}

namespace {

// A value of the guard's fit, at a time in hours.
struct DatedValue {
  double hours = 0;
  double value = 0;
  bool after = false;
};

// Fits constant, trend and step. Hours are taken around their mean: since 1970 they are so large that the columns would
// look alike to the solver. Absent if trend and step cannot be told apart.
std::optional<LeastSquares> FitTrendAndStep(std::span<const DatedValue> values) {
  std::vector<std::vector<double>> columns(3);
  std::vector<double> y;
  double mean = 0;
  for (const DatedValue& value : values) mean += value.hours / static_cast<double>(values.size());
  for (const DatedValue& value : values) {
    columns[0].push_back(1);
    columns[1].push_back(value.hours - mean);
    columns[2].push_back(value.after ? 1 : 0);
    y.push_back(value.value);
  }
  return FitLeastSquares(columns, y);
}

// The step with its interval. The caller decides on which side it lies.
DriftGuard StepOf(const LeastSquares& fit, double error, double df, double level) {
  const double half = StudentTQuantile(df, (1 + level) / 2) * error;
  const double delta = fit.coefficients[2];
  return {false, delta, delta - half, delta + half, false};
}

// Adds the rows of one side, with g/w as the value. Rows without work have no ratio and are skipped.
void AddRows(std::span<const RunEstimate> runs, bool after, std::vector<DatedValue>& values) {
  for (const RunEstimate& run : runs) {
    if (!run.rows_estimate) continue;
    for (const WorkPiece& piece : run.rows_estimate->summed) {
      for (const WorkRow& row : piece) {
        if (row.work <= 0) continue;
        const double hours = InHours(row.end.nanos());
        values.push_back({hours, row.gpu_seconds / row.work, after});
      }
    }
  }
}

}  // namespace

std::optional<DriftGuard> GuardOverRuns(std::span<const DatedLog> runs, double level) {
  const auto after = std::count_if(runs.begin(), runs.end(), [](const DatedLog& run) { return run.after; });
  if (after < 3 || static_cast<std::ptrdiff_t>(runs.size()) - after < 3) return std::nullopt;
  std::vector<DatedValue> values;
  for (const DatedLog& run : runs) values.push_back({run.hours, run.log, run.after});
  const std::optional<LeastSquares> fit = FitTrendAndStep(values);
  if (!fit) return std::nullopt;
  DriftGuard guard = StepOf(*fit, fit->errors[2], fit->df, level);
  guard.over_runs = true;
  return guard;
}

std::optional<DriftGuard> GuardOverRows(std::span<const RunEstimate> before, std::span<const RunEstimate> after,
                                        double level) {
  std::vector<DatedValue> values;
  AddRows(before, false, values);
  AddRows(after, true, values);
  std::stable_sort(values.begin(), values.end(),
                   [](const DatedValue& a, const DatedValue& b) { return a.hours < b.hours; });
  const std::optional<LeastSquares> fit = FitTrendAndStep(values);
  if (!fit) return std::nullopt;
  // Residuals of rows are correlated: the error grows with the root of tau, and the degrees of freedom shrink.
  const CorrelationTime time = CorrelationTimeOf(fit->residuals);
  const double df = std::max(2.0, time.Windows(static_cast<double>(values.size())) - 3);
  return StepOf(*fit, fit->errors[2] * std::sqrt(time.tau), df, level);
}

bool OnTheSideOf(const DriftGuard& guard, double fraction) {
  return fraction > 0 ? guard.high < 0 : fraction < 0 && guard.low > 0;
}

}  // namespace idleburn
