#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stats/mean.h"
#include "verify/verdict.h"

namespace idleburn {

// What a change did, with what is needed to give an interval at any level.
struct SavingEffect {
  // How the interval is laid around the fraction.
  enum class Scale : std::uint8_t {
    kLog,       // t on ln(R1/R0): heavy tails keep their coverage
    kPlain,     // t on the fraction itself: of a linear model
    kSequence,  // on ln(R1/R0), true at every look: `error` is the running deviation of `n` pairs
  };
  double fraction = 0;
  double error = 0;  // of ln(R1/R0), or of the fraction
  double df = 1;
  Scale scale = Scale::kLog;
  int n = 0;  // of kSequence
  // Of kSequence after one fixed baseline: the error of ln R before, which every look shares.
  VarianceTerm baseline{0, 0};
  double shift = 0;  // added to fraction and interval: what non-routine adjustments were worth

  [[nodiscard]] double FractionError() const;  // se(F)
};

SavingEffect EffectOfSides(const SideEstimate& before, const SideEstimate& after);

// Of runs after one fixed baseline, looked at after each of them; `after` holds their ln R. By the union bound its
// interval is a fixed one of the baseline and a sequence of the runs, each at half the error: cautious, but true at
// every look.
SavingEffect EffectAfterBaseline(const SideEstimate& before, std::span<const double> after);

// Takes from the effect what would have happened anyhow: a change of ln R with its own error.
SavingEffect Corrected(const SavingEffect& effect, double log_ratio, const VarianceTerm& error);

SavingInterval IntervalOf(const SavingEffect& effect, double level);
// Of twice the error, .90 for .95: what an indication is held to.
double LowerLevel(double level);

// An interval of the fraction as GPU-seconds avoided by a side that used `gpu_seconds_after`.
SavingInterval AvoidedOf(const SavingEffect& effect, const SavingInterval& saving, double gpu_seconds_after);

// t(68 %) * se(F) / |F|: below one half, ASHRAE's guideline calls a saving certain enough. F must not be 0.
double FractionalUncertainty(const SavingEffect& effect);
// The effect that 80 of 100 such measurements would have shown.
double SmallestShown(const SavingEffect& effect);

// One run, epoch or window of equal length, as a line takes it.
struct WorkSegment {
  double work = 0;
  double gpu_seconds = 0;
};

// GPU-seconds as fixed + per_unit * work, fitted to a baseline (docs/verification.md), and what the change avoided
// by it.
struct LinearReading {
  LinearBaseline line;
  bool fit_for_verdicts = false;  // CV(RMSE) at most 0.25
  SavingEffect effect;            // avoided / what the line expects of the work after, on the plain scale
};

// What keeps a baseline from being described by a line; empty if nothing does. 12 segments, largest work at least 1.5 x
// the smallest, and at least 4 segments after.
std::string FaultOfLinearBaseline(std::span<const WorkSegment> before, std::span<const WorkSegment> after);

// Of segments in order of time in which no such fault is found.
LinearReading ReadLinear(std::span<const WorkSegment> before, std::span<const WorkSegment> after);

double ExpectedOf(const LinearBaseline& line, double work);

}  // namespace idleburn
