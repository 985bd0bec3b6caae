#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stats/order.h"
#include "verify/verdict.h"

namespace idleburn {

// What a change did, with all that an interval at any level needs. Effects are corrected and shifted before an interval
// is taken, so runs, pairs and lines all have this form.
struct SavingEffect {
  // How the interval lies around the fraction.
  enum class Scale : std::uint8_t {
    kLog,       // t on ln(R1/R0): heavy tails keep their coverage
    kPlain,     // t on the fraction itself, for a linear model
    kSequence,  // on ln(R1/R0), true at every look; `error` is the running deviation of `n` pairs
  };
  double fraction = 0;
  double error = 0;  // of ln(R1/R0); for kPlain of the fraction
  double df = 1;
  Scale scale = Scale::kLog;
  int n = 0;  // pairs or runs of kSequence
  // For kSequence after one fixed baseline: the error of ln R before, which all looks share.
  VarianceTerm baseline{0, 0};
  double shift = 0;  // what non-routine adjustments are worth; added to fraction and interval

  [[nodiscard]] double FractionError() const;  // the standard error of the fraction
};

// The effect of two independent sides: F = 1 - R1/R0, errors in quadrature, Welch's degrees of freedom. The error of
// both sides must be known.
SavingEffect EffectOfSides(const SideEstimate& before, const SideEstimate& after);

// The effect of runs that are looked at one after another, all against one baseline. `after` holds their ln R, at
// least two. Its interval joins a fixed one of the baseline and a sequence of the runs, each at half the error (union
// bound): cautious, but true at every look.
SavingEffect EffectAfterBaseline(const SideEstimate& before, std::span<const double> after);

// Takes off what would have happened without the change, given as a change of ln R with its own error. The errors add
// in quadrature.
SavingEffect Corrected(const SavingEffect& effect, double log_ratio, const VarianceTerm& error);

// The interval at `level`, for example 0.95, including the shift.
SavingInterval IntervalOf(const SavingEffect& effect, double level);
// The level at twice the error, .90 for .95. An indication is held to it.
double LowerLevel(double level);

// GPU-seconds avoided, from an interval of the fraction and the GPU-seconds that the side after the change used.
// Example: a saving of 20 % with 80 GPU-seconds used avoided 20.
SavingInterval AvoidedOf(const SavingEffect& effect, const SavingInterval& saving, double gpu_seconds_after);

// t(68 %) x se(F) / |F|. Below one half, ASHRAE Guideline 14 calls a saving certain enough. F must not be 0.
double FractionalUncertainty(const SavingEffect& effect);
// The smallest effect that 80 of 100 such measurements would have shown, as a fraction. It keeps "not shown" from being
// read as "no effect".
double SmallestShown(const SavingEffect& effect);

// One run, epoch or window, as the linear model takes it.
struct WorkSegment {
  double work = 0;
  double gpu_seconds = 0;
};

// The linear model of a baseline (docs/verification.md, "The interval") and the effect that it gives. It is for jobs
// with a fixed cost, such as start-up: their ratio changes with the amount of work alone.
struct LinearReading {
  LinearBaseline line;
  bool fit_for_verdicts = false;  // CV(RMSE) at most 0.25, and it expects GPU time after
  SavingEffect effect;            // avoided / expected, on the plain scale
};

// Why a line cannot describe the baseline; empty if it can. It needs 12 segments before and 4 after. Of those before,
// the largest must do at least 1.5 x the work of the smallest.
std::string FaultOfLinearBaseline(std::span<const WorkSegment> before, std::span<const WorkSegment> after);

// Segments must be in order of time and without such a fault.
LinearReading ReadLinear(std::span<const WorkSegment> before, std::span<const WorkSegment> after);

// GPU-seconds that the line expects for so much work.
double ExpectedOf(const LinearBaseline& line, double work);

}  // namespace idleburn
