#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_unit.h"

namespace idleburn {

// Why a verdict is not a better one, or what it must be read with.
struct VerdictReason {
  std::string_view id;   // "drift_not_excluded", "run_to_run_noise_not_seen", "low_effective_n", ...
  std::string sentence;  // what was seen, and what would settle it
};

// What a reason does to a verdict.
enum class ReasonWeight : std::uint8_t {
  kInvalid,      // the sides cannot be compared
  kNotShown,     // too little to say anything
  kAtMost,       // the evidence does not suffice: at most INDICATED or INDICATED_REGRESSION
  kNotVerified,  // a saving is at most INDICATED; a regression stands
  kNote,         // gates nothing; to be read with the verdict
};

struct ReasonRow {
  std::string_view id;
  ReasonWeight weight;
  std::string_view settle;  // what would settle it
};
std::span<const ReasonRow> ReasonTable();
const ReasonRow& ReasonOf(std::string_view id);  // of the table; anything else is a programmer's mistake

// Whether one of the reasons has that weight.
bool AnyWeighs(std::span<const VerdictReason> reasons, ReasonWeight weight);

// "3.14 %", in what was seen.
std::string Percent(double fraction);

// "<seen>; <what would settle it>"
VerdictReason MakeReason(std::string_view id, std::string_view seen);

// docs/verification.md, in the order in which they are checked.
enum class Verdict : std::uint8_t { kInvalid, kRegression, kVerified, kIndicated, kIndicatedRegression, kNotShown };
std::string_view VerdictName(Verdict verdict);  // "INDICATED_REGRESSION"

// Runs, captures or pairs a side from which on it is seen what differs between them.
inline constexpr int kRunsThatSuffice = 3;

// A saving as a fraction of what the work would have needed before: below 0 it needed more.
struct SavingInterval {
  double fraction = 0;
  double low = 0;
  double high = 0;
};

// One side: GPU-seconds per unit of work, and how sure that is.
struct SideEstimate {
  int runs = 0;
  std::int64_t rows = 0;    // as read; 0: only totals are known
  std::int64_t summed = 0;  // of them, sums of rows that lie close together: what tau and n_eff count
  double gpu_seconds = 0;
  double work = 0;
  double ratio = 0;           // R, GPU-seconds per unit
  bool error_known = false;   // else one or two runs of which only the totals are known, and nothing tells e
  double relative_error = 0;  // e
  double df = 0;
  std::optional<double> tau;  // of the rows as summed; absent without rows
  std::optional<double> n_eff;
};

struct DriftGuard {
  bool over_runs = false;    // else over summed rows, which carries less
  double delta = 0;          // the step beside the trend, of ln R (over runs) or of g/w
  double low = 0, high = 0;  // its 95 % interval
  bool same_side = false;    // excludes 0 on the side of the effect
};

// How the runs of both sides lie in time.
enum class RunLayout : std::uint8_t { kUnknown, kBeforeAfter, kInterleaved, kSwitchback };
std::string_view RunLayoutName(RunLayout layout);  // "before_after"

// A line fitted to the baseline: GPU-seconds = fixed + per_unit * work.
struct LinearBaseline {
  double fixed = 0;
  double per_unit = 0;
  double cv_rmse = 0;  // above 0.25 it is not fit for verdicts
  int segments = 0;
};

// Untouched jobs over the same dates.
struct ComparatorChange {
  double fraction = 0;           // their own "saving"
  std::optional<bool> parallel;  // moved as the baseline did before the change; absent: too few runs to say
};

// A switchback that never was, laid over the baseline many times: how often its interval excludes 0.
struct PlaceboTest {
  int labellings = 0;
  int blocks = 0;
  double excluding_zero = 0;  // share
};

struct SavingVerdict {
  Verdict verdict = Verdict::kNotShown;
  std::vector<VerdictReason> reasons;
  std::optional<WorkUnit> unit;
  SideEstimate before, after;
  RunLayout layout = RunLayout::kUnknown;
  int pairs = 0;            // of a switchback
  bool sequential = false;  // the intervals hold at every look, not at one
  double level = 0.95;
  std::optional<double> fraction;                     // the estimate, also without an interval; absent if INVALID
  std::optional<SavingInterval> saving;               // at `level`
  std::optional<SavingInterval> saving90;             // at twice its error: .90 for .95
  std::optional<SavingInterval> bootstrap;            // the cross-check; `saving` is the wider one if it is 1.5 x wider
  bool bootstrap_is_wider = false;                    // so `saving` is the bootstrap's
  std::uint64_t seed = 0;                             // of the draws
  std::optional<SavingInterval> avoided_gpu_seconds;  // GPU-seconds, not a fraction
  double adjustment_gpu_seconds = 0;                  // non-routine, within the above
  std::optional<LinearBaseline> model;                // absent: the ratio of sums
  std::optional<DriftGuard> guard;
  std::optional<ComparatorChange> comparators;
  std::optional<PlaceboTest> placebo;
  std::optional<double> fsu;             // absent where the saving is 0
  std::optional<double> smallest_shown;  // the smallest effect that these data could have shown
  std::optional<double> more_hours;      // of measuring, both sides, for NOT_SHOWN by too few independent data
  bool retrospective = false;            // no claim, or one written after the change
};

// The verdict of an interval at the level of the claim and at twice its error, of sides that can be compared: by what
// the reasons allow (docs/verification.md).
Verdict VerdictOf(const SavingInterval& saving, const SavingInterval& saving90, double smallest_effect,
                  std::span<const VerdictReason> reasons);

}  // namespace idleburn
