#include "verify/effect.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stats/mean.h"

namespace idleburn {
namespace {

constexpr double kAshraeLevel = 0.68;
constexpr double kFound = 0.80;

double HalfWidth(const SavingEffect& effect, double level) {
  if (effect.error == 0 && effect.baseline.variance == 0) return 0;
  if (effect.scale == SavingEffect::Scale::kSequence) {
    const double alpha = 1 - level;
    if (effect.baseline.df <= 0) return SequenceHalfWidth(effect.n, effect.error, alpha);
    return StudentTQuantile(effect.baseline.df, 1 - alpha / 4) * std::sqrt(effect.baseline.variance) +
           SequenceHalfWidth(effect.n, effect.error, alpha / 2);
  }
  return StudentTQuantile(effect.df, (1 + level) / 2) * effect.error;
}

}  // namespace

double SavingEffect::FractionError() const {
  switch (scale) {
    case Scale::kPlain:
      return error;
    case Scale::kSequence:
      return (1 - fraction) * std::sqrt(error * error / n + baseline.variance);
    case Scale::kLog:
      break;
  }
  return (1 - fraction) * error;
}

SavingEffect EffectOfSides(const SideEstimate& before, const SideEstimate& after) {
  const std::array<VarianceTerm, 2> terms = {{{before.relative_error * before.relative_error, before.df},
                                              {after.relative_error * after.relative_error, after.df}}};
  SavingEffect effect;
  effect.fraction = 1 - after.ratio / before.ratio;
  effect.error = std::sqrt(TotalVariance(terms));
  effect.df = WelchDf(terms);
  return effect;
}

SavingEffect EffectAfterBaseline(const SideEstimate& before, std::span<const double> after) {
  SavingEffect effect;
  effect.scale = SavingEffect::Scale::kSequence;
  effect.fraction = 1 - std::exp(MeanOf(after) - std::log(before.ratio));
  effect.n = static_cast<int>(after.size());
  effect.error = std::sqrt(VarianceOf(after));
  effect.df = effect.n - 1;
  effect.baseline = {before.relative_error * before.relative_error, before.df};
  return effect;
}

SavingEffect Corrected(const SavingEffect& effect, double log_ratio, const VarianceTerm& error) {
  const std::array<VarianceTerm, 2> terms = {{{effect.error * effect.error, effect.df}, error}};
  SavingEffect corrected = effect;
  corrected.fraction = 1 - (1 - effect.fraction) * std::exp(-log_ratio);
  corrected.error = std::sqrt(TotalVariance(terms));
  corrected.df = WelchDf(terms);
  return corrected;
}

SavingInterval IntervalOf(const SavingEffect& effect, double level) {
  const double half = HalfWidth(effect, level);
  SavingInterval interval{effect.fraction, effect.fraction - half, effect.fraction + half};
  if (effect.scale != SavingEffect::Scale::kPlain) {
    interval.low = 1 - (1 - effect.fraction) * std::exp(half);
    interval.high = 1 - (1 - effect.fraction) * std::exp(-half);
  }
  return {interval.fraction + effect.shift, interval.low + effect.shift, interval.high + effect.shift};
}

double LowerLevel(double level) { return std::max(0.0, 1 - 2 * (1 - level)); }

SavingInterval AvoidedOf(const SavingEffect& effect, const SavingInterval& saving, double gpu_seconds_after) {
  const double adjusted_baseline = gpu_seconds_after / (1 - effect.fraction);
  const auto avoided = [&](double fraction) {
    const double unshifted = fraction - effect.shift;
    const double baseline =
        effect.scale == SavingEffect::Scale::kPlain ? adjusted_baseline : gpu_seconds_after / (1 - unshifted);
    return unshifted * baseline + effect.shift * adjusted_baseline;
  };
  return {avoided(saving.fraction), avoided(saving.low), avoided(saving.high)};
}

double FractionalUncertainty(const SavingEffect& effect) {
  return StudentTQuantile(effect.df, (1 + kAshraeLevel) / 2) * effect.FractionError() /
         std::abs(effect.fraction + effect.shift);
}

double SmallestShown(const SavingEffect& effect) {
  return (StudentTQuantile(effect.df, 0.975) + StudentTQuantile(effect.df, kFound)) * effect.FractionError();
}

}  // namespace idleburn
