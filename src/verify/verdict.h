#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_unit.h"

namespace idleburn {

// What a comparison concludes, and why not more. These are the types that the judge fills and the writers print. A
// verdict is never changed after it was reached: writers compute nothing of it, and reasons are never dropped.

// Why a verdict is not better, or what it must be read with.
struct VerdictReason {
  std::string_view id;   // "drift_not_excluded", "run_to_run_noise_not_seen", "low_effective_n", ...
  std::string sentence;  // what was seen, then what would settle it
};

// What a reason does to a verdict (docs/verification.md, "Reasons"). The heaviest reason wins.
enum class ReasonWeight : std::uint8_t {
  kInvalid,      // the sides cannot be compared
  kNotShown,     // too little to say anything
  kAtMost,       // the evidence does not suffice: at most INDICATED or INDICATED_REGRESSION
  kNotVerified,  // a saving is at most INDICATED; a regression still stands
  kNote,         // changes nothing; is read with the verdict
};

// A row of the table of all reasons.
struct ReasonRow {
  std::string_view id;
  ReasonWeight weight;
  std::string_view settle;  // what would settle it
};
std::span<const ReasonRow> ReasonTable();
// Aborts if the table has no such id: reasons are written in code, never read from input.
const ReasonRow& ReasonOf(std::string_view id);

// Whether one of the reasons has that weight.
bool AnyWeighs(std::span<const VerdictReason> reasons, ReasonWeight weight);

// Makes the sentence "SEEN; what would settle it".
VerdictReason MakeReason(std::string_view id, std::string_view seen);

// The verdicts of docs/verification.md, in the order in which they are checked. The first that applies is given.
enum class Verdict : std::uint8_t { kInvalid, kRegression, kVerified, kIndicated, kIndicatedRegression, kNotShown };
std::string_view VerdictName(Verdict verdict);  // "INDICATED_REGRESSION"

// The least number of runs, captures or pairs on each side that shows how they differ among themselves.
inline constexpr int kRunsThatSuffice = 3;

// A saving as a fraction of what the work would have needed before. Negative: it needed more.
struct SavingInterval {
  double fraction = 0;
  double low = 0;
  double high = 0;
};

// One side: GPU-seconds per unit of work, and how sure that is. Symbols are those of docs/verification.md.
struct SideEstimate {
  int runs = 0;
  std::int64_t rows = 0;    // as read; 0 if only totals are known
  std::int64_t summed = 0;  // sums of neighbouring rows, which tau and n_eff count
  double gpu_seconds = 0;
  double work = 0;
  double ratio = 0;           // R, GPU-seconds per unit
  bool error_known = false;   // false for one or two runs with totals only
  double relative_error = 0;  // e, relative to R
  double df = 0;
  std::optional<double> tau;  // correlation time in summed rows; absent without rows
  // How many independent rows the rows are worth: summed / tau.
  std::optional<double> n_eff;
};

// The test whether a drift explains the change: a trend common to both sides and a step between them are fitted, and
// the step must be there (docs/verification.md, "The verdicts, in the order in which they are checked").
struct DriftGuard {
  bool over_runs = false;    // fitted to runs; else to summed rows, which is only reported
  double delta = 0;          // the step: of ln R over runs, of g/w over rows
  double low = 0, high = 0;  // its interval at the level of the claim
  bool same_side = false;    // the interval excludes 0 on the side of the effect
};

// How the runs of both sides lie in time. Interleaved runs and switchbacks share a drift between the sides.
enum class RunLayout : std::uint8_t { kUnknown, kBeforeAfter, kInterleaved, kSwitchback };
std::string_view RunLayoutName(RunLayout layout);  // "before_after"

// A line fitted to the baseline: GPU-seconds = fixed + per_unit * work.
struct LinearBaseline {
  double fixed = 0;
  double per_unit = 0;
  double cv_rmse = 0;  // CV(RMSE); above 0.25 the line is not fit for verdicts
  int segments = 0;
};

// What untouched jobs did over the same dates.
struct ComparatorChange {
  double fraction = 0;           // their own "saving"
  std::optional<bool> parallel;  // they moved as the baseline did before the change; absent with too few runs
};

// A test of the method on the baseline: it is labelled many times as if it had been a switchback, and the share of
// intervals that exclude 0 is counted. About 0.05 is sound at a level of .95.
struct PlaceboTest {
  int labellings = 0;
  int blocks = 0;
  double excluding_zero = 0;  // share
};

// Everything that a comparison of runs concludes. Writers print it and compute nothing of it again.
struct SavingVerdict {
  Verdict verdict = Verdict::kNotShown;
  std::vector<VerdictReason> reasons;
  std::optional<WorkUnit> unit;
  SideEstimate before, after;
  RunLayout layout = RunLayout::kUnknown;
  int pairs = 0;            // of a switchback
  bool sequential = false;  // the intervals hold at every look, not at one
  double level = 0.95;
  std::optional<double> fraction;                     // the estimate, even without an interval; absent if INVALID
  std::optional<SavingInterval> saving;               // at `level`
  std::optional<SavingInterval> saving90;             // at twice its error: .90 for .95
  std::optional<SavingInterval> bootstrap;            // the cross-check, which replaces `saving` if it is 1.5 x wider
  bool bootstrap_is_wider = false;                    // then `saving` is the bootstrap's
  std::uint64_t seed = 0;                             // of the draws
  std::optional<SavingInterval> avoided_gpu_seconds;  // GPU-seconds, not a fraction
  double adjustment_gpu_seconds = 0;                  // non-routine adjustments, included in the above
  std::optional<LinearBaseline> model;                // absent if the ratio of sums was used
  std::optional<DriftGuard> guard;
  std::optional<ComparatorChange> comparators;
  std::optional<PlaceboTest> placebo;
  std::optional<double> fsu;             // FractionalUncertainty; absent if the saving is 0
  std::optional<double> smallest_shown;  // the smallest effect that these data could have shown
  std::optional<double> more_hours;      // of measuring, both sides together, if data are too few
  bool retrospective = false;            // no claim that is known to be older than the change
};

// The verdict for sides that can be compared, from the interval at the claim's level, the one at twice its error, and
// what the reasons allow. Example: an interval of 0.02 to 0.05 with no reason above kNote is VERIFIED for a smallest
// effect of 0.01; with "retrospective" it is INDICATED.
Verdict VerdictOf(const SavingInterval& saving, const SavingInterval& saving90, double smallest_effect,
                  std::span<const VerdictReason> reasons);

}  // namespace idleburn
