#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/claim.h"
#include "verify/measured_run.h"
#include "verify/reversion.h"
#include "verify/terms.h"
#include "verify/verdict.h"

namespace idleburn {

// A static factor that changed and is not the measure: what it cost must have been measured.
struct NonRoutineAdjustment {
  std::string factor;  // the key in StaticFactors
  std::string before;
  std::string after;
  std::optional<double> gpu_seconds;  // added to what was avoided; absent: nobody measured it
  std::string basis;                  // by what it was measured: comparators, a run again
};

// All that a verdict rests on. What is absent was not to be had.
struct Comparison : VerdictTerms {
  std::vector<MeasuredRun> before, after;   // of a switchback: its blocks, in any order
  ClaimDesign design = ClaimDesign::kRuns;  // where there is no claim to say it
  std::vector<NonRoutineAdjustment> adjustments;
  std::vector<MeasuredRun> untouched_before, untouched_after;  // comparators: jobs that nobody changed, same dates
  std::optional<ExpectedReversion> reversion;                  // what a pick of bad runs alone would have done
  std::uint64_t seed = 1;
  int resamples = 2000;  // of the bootstrap
};

// The protocol of docs/verification.md: the same comparison gives the same verdict, to the bit.
SavingVerdict Judge(const Comparison& comparison);

}  // namespace idleburn
