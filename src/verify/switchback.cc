#include "verify/switchback.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stats/least_squares.h"
#include "stats/order.h"
#include "verify/measured_run.h"

// Effects of a setting that is alternated within a run. Neighbouring blocks form pairs, and only ratios within pairs
// are used. A drift over hours then cancels out, which no before/after comparison can achieve. A model of the drift
// over all blocks was rejected: a pair needs no assumption about its shape.

namespace idleburn {
namespace {

// Share of a block that is dropped after a switch: caches and queues still carry the old setting.
constexpr double kWashout = 0.1;
// Labellings of a placebo, and the least number of blocks for one.
constexpr int kLabellings = 200;
constexpr std::size_t kPlaceboBlocks = 16;

// A block with its setting.
struct Block {
  MeasuredRun run;
  bool after = false;
};

// The blocks of both settings by their start. Absent if a block has no date.
std::optional<std::vector<Block>> InOrderOfTime(std::span<const MeasuredRun> before,
                                                std::span<const MeasuredRun> after) {
  std::vector<Block> blocks;
  for (const MeasuredRun& run : before) blocks.push_back({run, false});
  for (const MeasuredRun& run : after) blocks.push_back({run, true});
  for (const Block& block : blocks) {
    if (!block.run.start) return std::nullopt;
  }
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block& a, const Block& b) { return *a.run.start < *b.run.start; });
  return blocks;
}

// Drops the first tenth of every block, except where the block before had the same setting. Returns false if a block
// has no rows to drop.
bool DropAfterSwitches(std::vector<Block>& blocks) {
  bool dropped = true;
  for (std::size_t i = blocks.size(); i-- > 0;) {
    if (i > 0 && blocks[i].after == blocks[i - 1].after) continue;
    MeasuredRun& run = blocks[i].run;
    if (CountRows(run.pieces) < 2) {
      dropped = false;
      continue;
    }
    std::size_t rest = CountRows(run.pieces);
    rest = static_cast<std::size_t>(std::ceil(kWashout * static_cast<double>(rest)));
    for (WorkPiece& piece : run.pieces) {
      const std::size_t gone = std::min(rest, piece.size());
      piece.erase(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(gone));
      rest -= gone;
    }
    run.gpu_seconds = 0;
    run.work = 0;
    for (const WorkPiece& piece : run.pieces) {
      const WorkRow sum = SumOf(piece);
      run.gpu_seconds += sum.gpu_seconds;
      run.work += sum.work;
    }
  }
  return dropped;
}

// Removes a linear trend before the correlation is estimated. A drift over the whole series would pass for correlation,
// and pairs are free of it.
std::vector<double> WithoutTrend(const std::vector<double>& series) {
  std::vector<std::vector<double>> columns(2);
  for (std::size_t i = 0; i < series.size(); ++i) {
    columns[0].push_back(1);
    columns[1].push_back(static_cast<double>(i));
  }
  const std::optional<LeastSquares> fit = FitLeastSquares(columns, series);
  return fit ? fit->residuals : series;
}

// The correlation of the rows of all blocks. Each row is taken around the ratio of its own setting, because the effect
// itself is no correlation. Leaves tau unknown if a block has fewer than two rows.
void MeasureTau(const std::vector<Block>& blocks, SwitchbackReading& reading) {
  std::vector<WorkPiece> pieces;
  std::array<WorkRow, 2> sums;
  for (const Block& block : blocks) {
    WorkPiece& rows = pieces.emplace_back();
    for (const WorkPiece& piece : block.run.pieces) rows.insert(rows.end(), piece.begin(), piece.end());
    if (rows.size() < 2) return;
    sums[block.after ? 1 : 0].gpu_seconds += block.run.gpu_seconds;
    sums[block.after ? 1 : 0].work += block.run.work;
  }
  pieces = SumRows(pieces);
  std::vector<double> series;
  std::size_t shortest = pieces.front().size();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const WorkRow& side = sums[blocks[i].after ? 1 : 0];
    const double ratio = side.gpu_seconds / side.work;
    const std::vector<double> residuals = RatioResiduals(pieces[i], ratio);
    series.insert(series.end(), residuals.begin(), residuals.end());
    shortest = std::min(shortest, pieces[i].size());
  }
  reading.tau = CorrelationTimeOf(WithoutTrend(series)).tau;
  reading.least_taus = static_cast<double>(shortest) / *reading.tau;
}

// ln of R of a block. Not finite if the block has no work.
double LogRatioOf(const MeasuredRun& run) { return std::log(run.gpu_seconds / run.work); }

}  // namespace

std::optional<SwitchbackReading> ReadSwitchback(std::span<const MeasuredRun> before,
                                                std::span<const MeasuredRun> after) {
  std::optional<std::vector<Block>> ordered = InOrderOfTime(before, after);
  if (!ordered) return std::nullopt;
  std::vector<Block>& blocks = *ordered;
  SwitchbackReading reading;
  if (blocks.empty()) return reading;
  MeasureTau(blocks, reading);
  reading.washout_dropped = DropAfterSwitches(blocks);
  std::size_t before_first = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    // Neighbours with different settings form a pair. A block is used once.
    const bool paired = i + 1 < blocks.size() && blocks[i].after != blocks[i + 1].after;
    if (!paired) {
      ++reading.unpaired;
      continue;
    }
    const std::size_t changed = blocks[i].after ? i : i + 1;
    const std::size_t unchanged = blocks[i].after ? i + 1 : i;
    const double log_ratio = LogRatioOf(blocks[changed].run) - LogRatioOf(blocks[unchanged].run);
    ++i;
    // Only the washout had work: what is left has no ratio.
    if (!std::isfinite(log_ratio)) {
      reading.unpaired += 2;
      continue;
    }
    before_first += unchanged < changed ? 1U : 0U;
    reading.log_ratios.push_back(log_ratio);
    reading.before.push_back(std::move(blocks[unchanged].run));
    reading.after.push_back(std::move(blocks[changed].run));
  }
  reading.one_order = before_first == 0 || before_first == reading.log_ratios.size();
  return reading;
}

SavingEffect EffectOfPairs(std::span<const double> log_ratios, bool sequential) {
  // A sequence needs the deviation of one pair, t the error of their mean.
  const auto n = static_cast<double>(log_ratios.size());
  const double variance = VarianceOf(log_ratios);
  SavingEffect effect;
  effect.fraction = 1 - std::exp(MeanOf(log_ratios));
  effect.df = n - 1;
  effect.n = static_cast<int>(log_ratios.size());
  effect.scale = sequential ? SavingEffect::Scale::kSequence : SavingEffect::Scale::kLog;
  effect.error = std::sqrt(sequential ? variance : variance / n);
  return effect;
}

std::optional<PlaceboTest> PlaceboOver(std::span<const RunEstimate> baseline, double level, Random& random) {
  // Pieces cannot be joined for this: neighbours across a gap share no noise.
  const WorkPiece* longest = nullptr;
  double tau = 1;
  for (const RunEstimate& run : baseline) {
    if (!run.rows_estimate) continue;
    for (const WorkPiece& piece : run.rows_estimate->summed) {
      if (longest != nullptr && piece.size() <= longest->size()) continue;
      longest = &piece;
      tau = run.rows_estimate->tau;
    }
  }
  if (longest == nullptr) return std::nullopt;
  const auto block = static_cast<std::size_t>(std::ceil(kSwitchbackBlockTaus * tau));
  const std::size_t pairs = longest->size() / block / 2;
  if (2 * pairs < kPlaceboBlocks) return std::nullopt;
  std::vector<double> differences;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const auto begin = longest->begin() + static_cast<std::ptrdiff_t>(2 * pair * block);
    const auto middle = begin + static_cast<std::ptrdiff_t>(block);
    const WorkRow first = SumOf({begin, middle});
    const WorkRow second = SumOf({middle, middle + static_cast<std::ptrdiff_t>(block)});
    const double difference = std::log(second.gpu_seconds / second.work) - std::log(first.gpu_seconds / first.work);
    if (!std::isfinite(difference)) return std::nullopt;
    differences.push_back(difference);
  }
  const double t = StudentTQuantile(static_cast<double>(pairs - 1), (1 + level) / 2);
  int excluding = 0;
  std::vector<double> drawn(pairs);
  for (int i = 0; i < kLabellings; ++i) {
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      // One random bit decides the order within each pair.
      drawn[pair] = (random.Next() >> 31U) == 0 ? differences[pair] : -differences[pair];
    }
    excluding += std::abs(MeanOf(drawn)) > t * EffectOfPairs(drawn, false).error ? 1 : 0;
  }
  return PlaceboTest{kLabellings, static_cast<int>(2 * pairs), static_cast<double>(excluding) / kLabellings};
}

}  // namespace idleburn
