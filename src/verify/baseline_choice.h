#pragma once

#include <optional>
#include <span>

#include "stats/random.h"

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

}  // namespace idleburn
