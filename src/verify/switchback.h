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

// Length that a block of a switchback should have, in correlation times. Blocks of a placebo have it.
inline constexpr double kSwitchbackBlockTaus = 4;

// A setting that was alternated while the work went on, in pairs of neighbouring blocks in drawn order
// (docs/verification.md, "The verdicts, in the order in which they are checked"). Neighbours share slow noise and
// drift, so their ratio is free of both.
struct SwitchbackReading {
  std::vector<double> log_ratios;          // ln of after / before of each pair, in order of time
  bool washout_dropped = true;             // the first tenth after each switch; false if a block has no rows to drop
  bool one_order = false;                  // all pairs have the same order, so a drift biases all of them alike
  int unpaired = 0;                        // blocks without a partner, left out
  std::optional<double> tau;               // correlation time over all blocks, in summed rows
  std::optional<double> least_taus;        // length of the shortest block, in tau
  std::vector<MeasuredRun> before, after;  // the blocks that count: paired, without washout
};

// Blocks may be in any order. Absent if one has no date, because pairs are neighbours in time.
std::optional<SwitchbackReading> ReadSwitchback(std::span<const MeasuredRun> before,
                                                std::span<const MeasuredRun> after);

// Student's t on the log ratios, at least 2. With `sequential` the interval is one that holds at every look.
SavingEffect EffectOfPairs(std::span<const double> log_ratios, bool sequential);

// Labels the baseline's longest piece 200 times as if it had been a switchback, in blocks of 4 tau. About 5 % of
// these labellings exclude 0 at a level of .95 if the method is sound on this job's noise. Absent if fewer than 16
// blocks fit.
std::optional<PlaceboTest> PlaceboOver(std::span<const RunEstimate> baseline, double level, Random& random);

}  // namespace idleburn
