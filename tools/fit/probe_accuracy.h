#pragma once

#include <string>

#include "base/result.h"
#include "fit/accuracy.h"

namespace idleburn {

// How far a third step is from the line through two measured ones (plan/measured_steps.h), on a published table.
struct ProbeErrors {
  // Of steps between the two measured sizes, beyond them, and all.
  ErrorSummary between;
  ErrorSummary beyond;
  ErrorSummary all;
  // Shares of these steps that lie in the 90 % interval.
  double between_covered = 0;
  double beyond_covered = 0;
  double all_covered = 0;
  // Pairs of sizes that are refused, because their times do not grow.
  std::size_t refused = 0;
};

// Takes every pair of sequence lengths of one configuration as measured, and predicts each other length of it. The
// table has s_per_iter as it was printed, seq_len, and columns of the configuration. Fails on a table that is none.
Result<ProbeErrors> JudgeProbes(std::string text, const std::string& file);

// The errors as a section of docs/plan-accuracy-speed.md.
std::string ProbeSection(const ProbeErrors& errors);

}  // namespace idleburn
