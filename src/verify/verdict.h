#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/claim.h"
#include "verify/measured_run.h"

namespace idleburn {

// verification.md section 5, in the order in which they are checked.
enum class Verdict : std::uint8_t { kInvalid, kRegression, kVerified, kIndicated, kIndicatedRegression, kNotShown };
std::string_view VerdictName(Verdict verdict);  // "INDICATED_REGRESSION"

// Why a verdict is not a better one, or what it must be read with.
struct VerdictReason {
  std::string_view id;   // "drift_not_excluded", "run_to_run_noise_not_seen", "low_effective_n", ...
  std::string sentence;  // what was seen, and what would settle it
};

// A saving as a fraction of what the work would have needed before: below 0 it needed more.
struct SavingInterval {
  double fraction = 0;
  double low = 0;
  double high = 0;
};

// One side: GPU-seconds per unit of work, and how sure that is.
struct SideEstimate {
  int runs = 0;
  std::int64_t rows = 0;  // 0: only totals are known
  double gpu_seconds = 0;
  double work = 0;
  double ratio = 0;           // R, GPU-seconds per unit
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

struct SavingVerdict {
  Verdict verdict = Verdict::kNotShown;
  std::vector<VerdictReason> reasons;
  std::optional<WorkUnit> unit;
  SideEstimate before, after;
  double level = 0.95;
  std::optional<double> fraction;        // the estimate, also where no interval is given
  std::optional<SavingInterval> saving;  // at `level`
  std::optional<SavingInterval> saving90;
  std::optional<SavingInterval> bootstrap;            // the cross-check; `saving` is the wider one if it is 1.5 x wider
  std::uint64_t seed = 0;                             // of the draws
  std::optional<SavingInterval> avoided_gpu_seconds;  // GPU-seconds, not a fraction
  std::optional<DriftGuard> guard;
  std::optional<double> fsu;             // absent where the saving is 0
  std::optional<double> smallest_shown;  // the smallest effect that these data could have shown
  std::optional<double> more_hours;      // of measuring, for NOT_SHOWN by too few independent data
  bool retrospective = false;            // no claim, or one written after the change
};

}  // namespace idleburn
