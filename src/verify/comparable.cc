#include "verify/comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "verify/measured_run.h"

namespace idleburn {
namespace {

// Share of the allocated time that must be observed on each side.
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

std::span<const MeasuredRun> SideOf(const Comparison& comparison, std::size_t side) {
  return side == 0 ? std::span<const MeasuredRun>(comparison.before) : comparison.after;
}

// The runs of both sides that have a date, by their start.
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

// True unless both runs name their GPUs and have none in common.
bool MayShareGpus(const MeasuredRun& a, const MeasuredRun& b) {
  if (a.gpus.empty() || b.gpus.empty()) return true;
  return std::any_of(a.gpus.begin(), a.gpus.end(), [&b](const std::string& gpu) {
    return std::find(b.gpus.begin(), b.gpus.end(), gpu) != b.gpus.end();
  });
}

// Every run must count work in one unit. All problems are listed, not only the first: each run is mended separately.
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
        reasons.push_back(MakeReason("no_gpu_time", fmt::format("no allocated GPU time is known of {}", run.name)));
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

// The factor that the claim says it changes is not static.
bool IsStatic(std::string_view key, const Comparison& comparison) {
  if (comparison.claim && comparison.claim->changed_factor == key) return false;
  return std::none_of(kHowItWasCalled.begin(), kHowItWasCalled.end(),
                      [key](std::string_view start) { return key.substr(0, start.size()) == start; });
}

// Whether an adjustment with measured GPU-seconds and a basis covers the factor.
bool WasMeasured(std::string_view factor, const Comparison& comparison) {
  return std::any_of(comparison.adjustments.begin(), comparison.adjustments.end(),
                     [factor](const NonRoutineAdjustment& entry) {
                       return entry.factor == factor && entry.gpu_seconds && !entry.basis.empty();
                     });
}

// A factor with two values makes the sides incomparable, unless its cost was measured. A factor that some runs do not
// record is only noted: most logs record few of them.
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
    reasons.push_back(MakeReason("static_factor_unknown", "not every run says its " + unknown));
  }
}

// Shares are weighted by allocated time, so that a long unobserved run counts more than a short one.
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
      reasons.push_back(MakeReason("observed_below_95", fmt::format("{:.1f} % of the allocated time {} was observed",
                                                                    100 * observed / allocated, kSideNames[side])));
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

}  // namespace idleburn
