#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stats/random.h"
#include "verify/claim.h"
#include "verify/verdict.h"

namespace idleburn {

// Regression to the mean: runs that were picked for being bad are better the next time, whatever is done to them
// (docs/verification.md). All values are ln of GPU-seconds per unit of work.

// How the runs of a baseline stand among all that are known of the same jobs.
struct ChoiceReading {
  double chance = 1;  // that as many runs, drawn blindly from all of them, look as bad on the mean
  bool looks_picked = false;
};
// Absent with fewer than twice as many other runs: too few to tell a pick from an accident.
std::optional<ChoiceReading> ReadChoice(std::span<const double> baseline, std::span<const double> others,
                                        Random& random);

// What a pick of the worst tenth would have made of runs that vary like these without any change: `mean` in the mean,
// `most` with the accidents of both sides on top, at `level`. At least 2 runs a side.
struct WorstTenth {
  double mean = 0;
  double most = 0;
};
WorstTenth WorstTenthOf(std::span<const double> before, std::span<const double> after, double level);

// Data left out after the fact.
struct DataExclusion {
  std::string reason;
  double share = 0;  // of the allocated GPU time of both sides; of captures, of their number
};

// The baseline among all runs before the change that are known of the same jobs: ln of GPU-seconds per unit of work.
struct KnownRuns {
  std::vector<double> baseline;
  std::vector<double> others;
};

// What is asked of all that is judged, be it runs or profilers' captures, before a saving is VERIFIED.
struct VerdictTerms {
  std::optional<Claim> claim;  // absent: the defaults of Claim, and the verdict is retrospective
  std::vector<DataExclusion> exclusions;
  bool chosen_for_being_bad = false;  // the runs were picked by the value that is judged
  std::optional<KnownRuns> known;     // what a history knows of these jobs
};

// A run or a capture, as far as the terms ask for it.
struct JudgedRun {
  std::string name;
  std::string sha256;            // of the input; empty if there is no file
  std::optional<Instant> start;  // absent: no date is known
};
template <typename Run>
std::vector<JudgedRun> AsJudged(std::span<const Run> runs) {
  std::vector<JudgedRun> judged;
  for (const Run& run : runs) judged.push_back({run.name, run.sha256, run.start});
  return judged;
}

// Before and after, interleaved, or unknown where a run has no dates.
RunLayout LayoutOf(std::span<const JudgedRun> before, std::span<const JudgedRun> after);

// What a pick of bad runs may have made by itself.
struct SeenSaving {
  double fraction = 0;
  std::vector<double> before, after;  // ln of what each run took
};

struct TermsReading {
  std::vector<VerdictReason> reasons;
  bool retrospective = false;  // no claim, or one that is not known to be older than the change
};
// Exclusions, choice, date and baseline. `saving` is absent where there is none, and where a pick does not matter.
TermsReading HoldToTerms(const VerdictTerms& terms, std::span<const JudgedRun> before, std::span<const JudgedRun> after,
                         const std::optional<SeenSaving>& saving, Random& random);

}  // namespace idleburn
