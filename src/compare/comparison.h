#pragma once

#include <string>
#include <vector>

#include "compare/compared_sides.h"
#include "compare/comparison_report.h"
#include "compare/judged_by.h"
#include "config/settings.h"
#include "verify/reversion.h"

namespace idleburn {

// What a comparison is asked for, as written.
struct ComparisonRequest {
  SideRequest sides;
  JudgedBy judged;
  // A table of jobs that were picked by their value. Alone it is judged by itself; beside runs it is taken off them.
  std::string jobs;
  std::string claim;
  std::vector<std::string> factors;
  std::vector<std::string> work;
  // Factors that changed besides the measure (--nra), and capacity as it is bought (--tier).
  std::vector<std::string> adjustments;
  std::vector<std::string> tiers;
  // Hours to scale the saving to.
  std::string projection;
  // The user says that the runs were picked by the value under judgement. The verdict must then allow for their drift
  // back.
  bool chosen_for_being_bad = false;
  bool no_history = false;
};

// How the saving is judged: by a claim, or by what flags say. Flags are put into a Claim too, so that the judge has one
// form of terms.
struct ComparisonTerms {
  bool claimed = false;
  Claim claim;
};
// Reads the claim, or the flags without one. Fails with a usage error if both are given.
Result<ComparisonTerms> CompareTerms(const ComparisonRequest& request);

// Prices both sides, judges them, and adds money. Captures and runs go different ways, because captures have steps and
// no GPU-seconds. Both end in the same report. Prices come before the judgement only because failed runs are joined in
// it, and their time must be priced at their own GPUs. Says on standard error if a price given now has no effect.
Result<ComparisonReport> JudgeSides(const ComparisonRequest& request, const ComparisonTerms& terms, ComparedSides sides,
                                    const Settings& settings, Instant now, const ProgressWatch& draws);

// Judges a table of jobs by itself. Flags about runs have no meaning for it, so they are errors. Its verdict is never
// VERIFIED, since the jobs were picked by the value that is judged.
Result<ReversionReport> JudgeJobsAlone(const ComparisonRequest& request, const Settings& settings);

}  // namespace idleburn
