#include "verify/comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "stats/least_squares.h"
#include "stats/order.h"
#include "text/figures.h"
#include "verify/effect.h"
#include "verify/measured_run.h"

// Whether two sides may be compared, and the estimate of each side. The checks come first in the file, then the
// estimate of a side, then untouched jobs.
//
// A check never repairs data. If a factor changed or a part was not observed, no arithmetic on these runs separates
// that from the effect, so the reason is reported and the user measures again.

namespace idleburn {
namespace {

// Share of the allocated time that must be observed on each side. The rest may hide an effect of 5 % of its own.
constexpr double kLeastObserved = 0.95;
// Telemetry readings that each side must have.
constexpr std::int64_t kLeastRows = 30;
constexpr std::array<std::string_view, 2> kSideNames = {"before", "after"};

// Factors that may differ, because the measure itself is there: the command line and the commit. All other factors
// must stay the same.
constexpr std::array<std::string_view, 2> kHowItWasCalled = {"command", "git."};

// A run with its side. `run` points into the comparison.
struct DatedRun {
  const MeasuredRun* run;
  bool after;
};

using Reasons = std::vector<VerdictReason>;

// Side 0 is before the change, side 1 after it.
std::span<const MeasuredRun> SideOf(const Comparison& comparison, std::size_t side) {
  return side == 0 ? std::span<const MeasuredRun>(comparison.before) : comparison.after;
}

// The runs of both sides that have a date, by their start. Runs without a date are left out: nothing shows where they
// lie.
std::vector<DatedRun> ByStart(std::span<const MeasuredRun> before, std::span<const MeasuredRun> after) {
  std::vector<DatedRun> runs;
  for (const MeasuredRun& run : before) {
    if (run.start) runs.push_back({&run, false});
  }
  for (const MeasuredRun& run : after) {
    if (run.start) runs.push_back({&run, true});
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const DatedRun& a, const DatedRun& b) { return *a.run->start < *b.run->start; });
  return runs;
}

// Whether the runs overlap. False if one of them has no dates: an overlap is then not shown.
bool SameTime(const MeasuredRun& a, const MeasuredRun& b) {
  return a.start && a.end && b.start && b.end && *a.start < *b.end && *b.start < *a.end;
}

// True unless both runs name their GPUs and have none in common. Unknown GPUs count as shared: two runs on one GPU slow
// each other down, which would pass for an effect.
bool MayShareGpus(const MeasuredRun& a, const MeasuredRun& b) {
  if (a.gpus.empty() || b.gpus.empty()) return true;
  return std::any_of(a.gpus.begin(), a.gpus.end(), [&b](const std::string& gpu) {
    return std::find(b.gpus.begin(), b.gpus.end(), gpu) != b.gpus.end();
  });
}

// Every run must count work in one unit. All problems are listed, not only the first, because each run is repaired by
// itself.
void CheckWork(const Comparison& comparison, Reasons& reasons) {
  std::set<WorkUnit> units;
  if (comparison.claim) units.insert(comparison.claim->unit);
  for (std::size_t side = 0; side < 2; ++side) {
    if (SideOf(comparison, side).empty()) {
      reasons.push_back(MakeReason("no_work_count", fmt::format("there is no run {}", kSideNames[side])));
    }
    for (const MeasuredRun& run : SideOf(comparison, side)) {
      if (run.unit) units.insert(*run.unit);
      if (!run.unit || run.work <= 0) {
        reasons.push_back(MakeReason("no_work_count", fmt::format("no work is counted in {}", run.name)));
      } else if (run.gpu_seconds <= 0) {
        reasons.push_back(MakeReason("no_gpu_time", fmt::format("no allocated GPU time is known for {}", run.name)));
      }
    }
  }
  if (units.size() > 1) {
    std::string names;
    for (const WorkUnit unit : units) {
      names += (names.empty() ? "" : ", ") + std::string(kWorkUnitPlurals[static_cast<std::size_t>(unit)]);
    }
    reasons.push_back(MakeReason("unequal_units", "work is counted in " + names));
  }
}

// What the reader of a run found, such as a clock that stepped.
void CheckDoubts(const Comparison& comparison, Reasons& reasons) {
  for (std::size_t side = 0; side < 2; ++side) {
    for (const MeasuredRun& run : SideOf(comparison, side)) {
      for (const RunDoubt& doubt : run.doubts) {
        reasons.push_back(MakeReason(doubt.id, fmt::format("{}: {}", run.name, doubt.sentence)));
      }
    }
  }
}

// Whether a factor must be the same on both sides. The factor that the claim says it changes need not be, nor may the
// command line and the commit.
bool IsStatic(std::string_view key, const Comparison& comparison) {
  if (comparison.claim && comparison.claim->changed_factor == key) return false;
  return std::none_of(kHowItWasCalled.begin(), kHowItWasCalled.end(),
                      [key](std::string_view start) { return key.substr(0, start.size()) == start; });
}

// Whether an adjustment covers the factor, with measured GPU-seconds and how they were measured. An estimate without a
// basis does not count: it could make any saving.
bool WasMeasured(std::string_view factor, const Comparison& comparison) {
  return std::any_of(comparison.adjustments.begin(), comparison.adjustments.end(),
                     [factor](const NonRoutineAdjustment& entry) {
                       return entry.factor == factor && entry.gpu_seconds && !entry.basis.empty();
                     });
}

// A factor with two values makes the sides incomparable, unless its cost was measured. A factor that some runs do not
// record is only noted: most logs record few factors, and a refusal would rule out nearly all comparisons. The claim
// counts as one more record of the factors before the change.
void CheckFactors(const Comparison& comparison, Reasons& reasons) {
  struct Seen {
    std::set<std::string> values;
    std::size_t runs = 0;
  };
  std::map<std::string, Seen> seen;
  std::size_t runs = 0;
  const auto take = [&](const StaticFactors& factors) {
    ++runs;
    for (const auto& [key, value] : factors) {
      Seen& factor = seen[key];
      factor.values.insert(value);
      ++factor.runs;
    }
  };
  if (comparison.claim && !comparison.claim->factors.empty()) take(comparison.claim->factors);
  for (std::size_t side = 0; side < 2; ++side) {
    for (const MeasuredRun& run : SideOf(comparison, side)) take(run.factors);
  }
  std::string unknown;
  for (const auto& [key, factor] : seen) {
    if (!IsStatic(key, comparison)) continue;
    if (factor.values.size() > 1 && !WasMeasured(key, comparison)) {
      reasons.push_back(MakeReason(
          "static_factor_changed",
          fmt::format("{} changed: {} and {}", key, *factor.values.begin(), *std::next(factor.values.begin()))));
    } else if (factor.runs < runs) {
      unknown += (unknown.empty() ? "" : ", ") + key;
    }
  }
  if (!unknown.empty()) {
    reasons.push_back(MakeReason("static_factor_unknown", "not every run records its " + unknown));
  }
}

// Both sides must be observed well enough. Shares are weighted by allocated time, so a long unobserved run counts more
// than a short one. Runs that do not tell their share are left out.
void CheckObserved(const Comparison& comparison, Reasons& reasons) {
  for (std::size_t side = 0; side < 2; ++side) {
    double observed = 0;
    double allocated = 0;
    for (const MeasuredRun& run : SideOf(comparison, side)) {
      if (!run.observed_fraction) continue;
      observed += *run.observed_fraction * run.gpu_seconds;
      allocated += run.gpu_seconds;
    }
    if (observed < kLeastObserved * allocated) {
      reasons.push_back(
          MakeReason("observed_below_95", fmt::format("{} of the allocated time {} was observed",
                                                      PercentText(observed / allocated), kSideNames[side])));
    }
    const std::optional<std::int64_t> rows = TelemetryRows(SideOf(comparison, side));
    if (rows && *rows < kLeastRows) {
      reasons.push_back(MakeReason("few_rows", fmt::format("{} readings {}", *rows, kSideNames[side])));
    }
  }
}

// Before and after at the same time would disturb each other. Alternating runs may overlap if they use different
// GPUs. One pair is enough to say so.
void CheckOverlap(const Comparison& comparison, RunLayout layout, Reasons& reasons) {
  const std::vector<DatedRun> runs = ByStart(comparison.before, comparison.after);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      const MeasuredRun& a = *runs[i].run;
      const MeasuredRun& b = *runs[j].run;
      const bool alternating = layout == RunLayout::kInterleaved || layout == RunLayout::kSwitchback;
      const bool collide = alternating ? MayShareGpus(a, b) : runs[i].after != runs[j].after;
      if (!collide || !SameTime(a, b)) continue;
      reasons.push_back(MakeReason("overlap", fmt::format("{} and {} ran at the same time", a.name, b.name)));
      return;
    }
  }
}

}  // namespace

bool HasRatios(const Comparison& comparison) {
  const auto has_ratio = [](const MeasuredRun& run) { return run.unit && run.work > 0 && run.gpu_seconds > 0; };
  return !comparison.before.empty() && !comparison.after.empty() &&
         std::all_of(comparison.before.begin(), comparison.before.end(), has_ratio) &&
         std::all_of(comparison.after.begin(), comparison.after.end(), has_ratio);
}

std::vector<VerdictReason> ComparableReasons(const Comparison& comparison, RunLayout layout) {
  Reasons reasons;
  CheckWork(comparison, reasons);
  CheckFactors(comparison, reasons);
  CheckObserved(comparison, reasons);
  CheckOverlap(comparison, layout, reasons);
  CheckDoubts(comparison, reasons);
  return reasons;
}

std::optional<std::int64_t> TelemetryRows(std::span<const MeasuredRun> runs) {
  std::optional<std::int64_t> rows;
  for (const MeasuredRun& run : runs) {
    if (!run.telemetry || run.pieces.empty()) continue;
    rows = rows.value_or(0);
    for (const WorkPiece& piece : run.pieces) *rows += static_cast<std::int64_t>(MergeRepeated(piece).size());
  }
  return rows;
}

namespace {

// The variance of the mean of ln R over runs, with k = (sum W)^2 / sum W^2 effective runs. Runs of different size weigh
// by their work: if one of ten runs did nearly all the work, the ten are worth little more than one.
double BetweenRuns(std::span<const RunEstimate> runs) {
  std::vector<double> logs;
  double work = 0;
  double squares = 0;
  for (const RunEstimate& run : runs) {
    logs.push_back(std::log(run.Ratio()));
    work += run.work;
    squares += run.work * run.work;
  }
  return VarianceOf(logs) / (work * work / squares);
}

}  // namespace

SideEstimate EstimateSide(std::span<const RunEstimate> runs) {
  SideEstimate side;
  side.runs = static_cast<int>(runs.size());
  for (const RunEstimate& run : runs) {
    side.gpu_seconds += run.gpu_seconds;
    side.work += run.work;
    side.rows += run.rows;
  }
  side.ratio = side.gpu_seconds / side.work;

  // A run known by its totals says nothing about its own noise, so rows count only if all runs have them.
  const bool all_rows =
      std::all_of(runs.begin(), runs.end(), [](const RunEstimate& run) { return run.rows_estimate.has_value(); });
  std::vector<VarianceTerm> terms;
  if (all_rows) {
    double n = 0;
    double tau = 0;
    double n_eff = 0;
    for (const RunEstimate& run : runs) {
      const double share = run.gpu_seconds / side.gpu_seconds;
      terms.push_back({share * share * run.rows_estimate->variance, run.rows_estimate->df});
      const auto rows = static_cast<double>(CountRows(run.rows_estimate->summed));
      n += rows;
      tau += rows * run.rows_estimate->tau;
      n_eff += run.rows_estimate->n_eff;
    }
    side.summed = static_cast<std::int64_t>(n);
    side.tau = tau / n;
    side.n_eff = n_eff;
  }
  // The larger of the two errors counts. They must not be added: what differs between runs already contains the noise
  // of their rows.
  const double within = TotalVariance(terms);
  if (side.runs >= kRunsThatSuffice) {
    side.error_known = true;
    side.relative_error = std::sqrt(std::max(within, BetweenRuns(runs)));
    side.df = side.runs - 1;
  } else if (all_rows) {
    side.error_known = true;
    side.relative_error = std::sqrt(within);
    side.df = WelchDf(terms);
  }
  return side;
}

RowCost CostOfRows(const SideEstimate& side, std::span<const RunEstimate> runs) {
  RowCost cost;
  for (const RunEstimate& run : runs) {
    if (!run.rows_estimate) return {};
    const auto rows = static_cast<double>(CountRows(run.rows_estimate->summed));
    cost.rows += rows;
    cost.seconds += rows * run.rows_estimate->seconds_between_rows;
  }
  cost.seconds /= cost.rows;
  cost.variance_of_one = side.relative_error * side.relative_error * cost.rows;
  return cost;
}

namespace {

// Untouched runs needed on each side.
constexpr std::size_t kEnoughRuns = 3;

// Which runs belong to the later half by date. Absent if one has no date.
std::optional<std::vector<bool>> LaterHalf(std::span<const MeasuredRun> runs) {
  std::vector<Instant> starts;
  for (const MeasuredRun& run : runs) {
    if (!run.start) return std::nullopt;
    starts.push_back(*run.start);
  }
  std::vector<Instant> sorted = starts;
  std::sort(sorted.begin(), sorted.end());
  const Instant middle = sorted[sorted.size() / 2];
  std::vector<bool> later;
  for (const Instant start : starts) later.push_back(start >= middle);
  return later;
}

// Fits ln R by half, by group and by both together. The last coefficient is how far the groups moved apart; they moved
// alike if its interval includes 0. Absent with fewer than two runs in a group, or if one has no date.
std::optional<bool> MovedAlike(std::span<const MeasuredRun> changed, std::span<const MeasuredRun> untouched,
                               double level) {
  if (changed.size() < 2 || untouched.size() < 2) return std::nullopt;
  std::vector<std::vector<double>> columns(4);
  std::vector<double> logs;
  for (const bool is_changed : {false, true}) {
    const std::span<const MeasuredRun> runs = is_changed ? changed : untouched;
    const std::optional<std::vector<bool>> later = LaterHalf(runs);
    if (!later) return std::nullopt;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double half = (*later)[i] ? 1 : 0;
      const double group = is_changed ? 1 : 0;
      columns[0].push_back(1);
      columns[1].push_back(half);
      columns[2].push_back(group);
      columns[3].push_back(half * group);
      logs.push_back(std::log(runs[i].gpu_seconds / runs[i].work));
    }
  }
  const std::optional<LeastSquares> fit = FitLeastSquares(columns, logs);
  if (!fit) return std::nullopt;
  return std::abs(fit->coefficients[3]) <= StudentTQuantile(fit->df, (1 + level) / 2) * fit->errors[3];
}

std::vector<RunEstimate> EstimateAll(std::span<const MeasuredRun> runs) {
  std::vector<RunEstimate> estimates;
  for (const MeasuredRun& run : runs) estimates.push_back(EstimateRun(run));
  return estimates;
}

}  // namespace

std::optional<UntouchedChange> ReadComparators(std::span<const MeasuredRun> untouched_before,
                                               std::span<const MeasuredRun> untouched_after,
                                               std::span<const MeasuredRun> baseline, double level) {
  if (untouched_before.empty() || untouched_after.empty()) return std::nullopt;
  const SideEstimate before = EstimateSide(EstimateAll(untouched_before));
  const SideEstimate after = EstimateSide(EstimateAll(untouched_after));
  if (!before.error_known || !after.error_known) return std::nullopt;
  const SavingEffect effect = EffectOfSides(before, after);
  UntouchedChange change;
  change.change = {effect.fraction, MovedAlike(baseline, untouched_before, level)};
  change.log_ratio = std::log1p(-effect.fraction);
  change.variance = effect.error * effect.error;
  change.df = effect.df;
  change.usable = untouched_before.size() >= kEnoughRuns && untouched_after.size() >= kEnoughRuns &&
                  change.change.parallel.value_or(false);
  return change;
}

}  // namespace idleburn
