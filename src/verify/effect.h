#pragma once

#include <cstdint>
#include <span>

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

}  // namespace idleburn
