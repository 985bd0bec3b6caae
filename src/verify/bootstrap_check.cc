#include "verify/bootstrap_check.h"

#include <algorithm>
#include <cmath>

#include "stats/order.h"
#include "stats/random.h"
#include "verify/run_rows.h"

namespace idleburn {
namespace {

constexpr double kBlockTaus = 2;
constexpr double kMostOfRun = 1.0 / 8;

struct Totals {
  double gpu_seconds = 0;
  double work = 0;
};

// A contiguous piece, as running sums: a block costs two look-ups whatever its length.
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

std::vector<Resampled> Prepare(std::span<const RunEstimate> runs, double tau) {
  std::vector<Resampled> pieces;
  for (const RunEstimate& run : runs) {
    const std::vector<WorkPiece>& rows = run.rows_estimate->summed;
    const double block = std::min(kBlockTaus * tau, kMostOfRun * static_cast<double>(CountRows(rows)));
    for (const WorkPiece& piece : rows) pieces.emplace_back(piece, block);
  }
  return pieces;
}

double DrawRatio(const std::vector<Resampled>& pieces, Random& random) {
  Totals totals;
  for (const Resampled& piece : pieces) piece.AddDraw(random, totals);
  return totals.gpu_seconds / totals.work;
}

}  // namespace

std::vector<double> BootstrapSavings(std::span<const RunEstimate> before, std::span<const RunEstimate> after,
                                     double tau, int resamples, Random& random) {
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
  }
  std::sort(savings.begin(), savings.end());
  return savings;
}

SavingInterval QuantileInterval(std::span<const double> ascending, double fraction, double level) {
  return {fraction, SortedQuantile(ascending, (1 - level) / 2), SortedQuantile(ascending, (1 + level) / 2)};
}

}  // namespace idleburn
