#include "verify/within_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/mean.h"
#include "verify/run_rows.h"

namespace idleburn {
namespace {

constexpr double kShortPiece = 5;  // in correlation times
constexpr double kLeastDf = 2;

// A contiguous stretch by itself.
struct PieceEstimate {
  double gpu_seconds = 0;
  double n = 0;
  double spread = 0;  // variance of a row, relative to R^2
  double tau = 1;
  double windows = 0;  // lags in a window, 2K + 1
  bool is_short = false;
};

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

// Mean over the pieces that `counts`, weighted by length; absent if none does.
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

// A piece shorter than five correlation times cannot know its own: it takes what the long ones say. False if none is
// long.
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
  // Rows that do not vary at all are sure of it.
  run.df = run.variance > 0 ? WelchDf(terms) : n;
  run.tau = *WeightedMean(
      pieces, [](const PieceEstimate& p) { return p.tau; }, [](const PieceEstimate&) { return true; });
  return run;
}

WorkPiece Concatenated(const std::vector<WorkPiece>& pieces) {
  WorkPiece all;
  for (const WorkPiece& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

// A piece without work has no ratio: it goes with its neighbour.
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
  // Gaps everywhere: what is left is one series with jumps, whose correlation is its own.
  if (parts.size() > 1 && !LendToShortPieces(parts)) {
    summed = {Concatenated(summed)};
    parts = {EstimatePiece(summed.front())};
  }
  estimate.rows_estimate = Combine(parts);
  estimate.rows_estimate->seconds_between_rows = SecondsBetweenRows(summed);
  estimate.rows_estimate->summed = std::move(summed);
  return estimate;
}

}  // namespace idleburn
