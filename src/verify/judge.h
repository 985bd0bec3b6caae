#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/progress_watch.h"
#include "verify/claim.h"
#include "verify/measured_run.h"
#include "verify/reversion.h"
#include "verify/terms.h"
#include "verify/verdict.h"

namespace idleburn {

// A static factor that changed besides the measure. Its cost counts only if it was measured: an adjustment by opinion
// could make any saving.
struct NonRoutineAdjustment {
  std::string factor;  // the key in StaticFactors
  std::string before;
  std::string after;
  std::optional<double> gpu_seconds;  // added to what was avoided; absent if nobody measured it
  std::string basis;                  // how it was measured: comparators, a repeated run
};

// Everything a verdict rests on. It is plain values: the judge reads no file and no clock, so a verdict can be
// repeated.
struct Comparison : VerdictTerms {
  std::vector<MeasuredRun> before, after;   // for a switchback: its blocks, in any order
  ClaimDesign design = ClaimDesign::kRuns;  // used only without a claim
  std::vector<NonRoutineAdjustment> adjustments;
  std::vector<MeasuredRun> untouched_before, untouched_after;  // jobs that nobody changed, over the same dates
  std::optional<ExpectedReversion> reversion;                  // what a pick of bad runs gains by itself
  std::uint64_t seed = 1;
  int resamples = 2000;  // of the bootstrap
};

// Reaches the verdict by the protocol of docs/verification.md. No other code may decide VERIFIED for runs. The same
// comparison gives the same verdict, to the bit, because all draws come from `seed`.
// `draws` hears of the draws of the bootstrap, which take time with many rows.
SavingVerdict Judge(const Comparison& comparison, const ProgressWatch& draws = {});

}  // namespace idleburn
