#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/claim.h"
#include "verify/measured_run.h"
#include "verify/reversion.h"
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

// Data left out after the fact.
struct DataExclusion {
  std::string reason;
  double share = 0;  // of the allocated GPU time of both sides
};

// The baseline among all runs before the change that are known of the same jobs: ln of GPU-seconds per unit of work.
struct KnownRuns {
  std::vector<double> baseline;
  std::vector<double> others;
};

// All that a verdict rests on. What is absent was not to be had.
struct Comparison {
  std::vector<MeasuredRun> before, after;   // of a switchback: its blocks, in any order
  std::optional<Claim> claim;               // absent: the defaults of Claim, and the verdict is retrospective
  ClaimDesign design = ClaimDesign::kRuns;  // where there is no claim to say it
  std::vector<NonRoutineAdjustment> adjustments;
  std::vector<DataExclusion> exclusions;
  std::vector<MeasuredRun> untouched_before, untouched_after;  // comparators: jobs that nobody changed, same dates
  bool chosen_for_being_bad = false;                           // the runs were picked by the value that is judged
  std::optional<KnownRuns> known;                              // what a history knows of these jobs
  std::optional<ExpectedReversion> reversion;                  // what that alone would have done
  std::uint64_t seed = 1;
  int resamples = 2000;  // of the bootstrap
};

// The protocol of docs/verification.md: the same comparison gives the same verdict, to the bit.
SavingVerdict Judge(const Comparison& comparison);

}  // namespace idleburn
