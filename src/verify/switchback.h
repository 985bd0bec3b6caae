#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/random.h"
#include "verify/effect.h"
#include "verify/measured_run.h"
#include "verify/within_run.h"

namespace idleburn {

// A setting that was alternated while the work went on, in pairs of blocks in drawn order (docs/verification.md).
// Neighbours share the slow noise, so that their ratio is rid of it, drift included.
struct SwitchbackReading {
  std::vector<double> log_ratios;    // of each pair, after to before, in order of time
  bool washout_dropped = true;       // the first tenth of every block after a switch; false where a block has no rows
  bool one_order = false;            // every pair in the same order: a drift leans on all of them alike
  int unpaired = 0;                  // blocks without a partner, left out
  std::optional<double> tau;         // of the rows of all blocks in order of time
  std::optional<double> least_taus;  // the shortest block, in tau
  std::vector<MeasuredRun> before, after;  // the blocks as counted: in pairs, without washout
};

// Blocks with their dates, in any order; absent if a block has none.
std::optional<SwitchbackReading> ReadSwitchback(std::span<const MeasuredRun> before,
                                                std::span<const MeasuredRun> after);

// t on the log ratios; with `sequential` the interval that is true at every look. At least 2 pairs.
SavingEffect EffectOfPairs(std::span<const double> log_ratios, bool sequential);

// 200 labellings of the baseline's longest piece as if it had been a switchback, blocks of 4 tau. Absent where fewer
// than 16 blocks fit.
std::optional<PlaceboTest> PlaceboOver(std::span<const RunEstimate> baseline, double level, Random& random);

}  // namespace idleburn
