#include "verify/effect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/result.h"
#include "stats/least_squares.h"
#include "stats/order.h"
#include "verify/within_run.h"

// Intervals of a saving, and the linear model of a baseline.
//
// Intervals are taken on ln(R1/R0). GPU-seconds per unit of work are positive and skewed, so on this scale the error is
// nearer to symmetric, and no interval exceeds a saving of 100 %. The linear model is the exception: its expectation
// has a fixed part, so it is no ratio (docs/verification.md, "The interval").

namespace idleburn {

namespace {

// Confidence level of ASHRAE's fractional savings uncertainty.
constexpr double kAshraeLevel = 0.68;
// Power of the smallest effect that could be shown: the share of measurements that find it.
constexpr double kFound = 0.80;

// Half the width of the interval on the scale of the effect. Data without any variation give 0. For a sequence after
// one baseline, the allowed error is halved between the two parts, and each half is two-sided: hence alpha / 4.
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
    // `error` is the deviation of one pair here, so that of the mean is smaller by the root of n.
    case Scale::kSequence:
      return (1 - fraction) * std::sqrt(error * error / n + baseline.variance);
    case Scale::kLog:
      break;
  }
  return (1 - fraction) * error;
}

SavingEffect EffectOfSides(const SideEstimate& before, const SideEstimate& after) {
  // Welch: the two sides may have different variances.
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
  // R1/R0 = 1 - F on the log scale: the expected change is divided out.
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

// .90 for .95: an error of .05 doubled is .10.
double LowerLevel(double level) { return std::max(0.0, 1 - 2 * (1 - level)); }

// The adjusted baseline is what the work after the change would have needed before. Example: 80 GPU-seconds used at a
// saving of 20 % would have been 100, so 20 were avoided.
SavingInterval AvoidedOf(const SavingEffect& effect, const SavingInterval& saving, double gpu_seconds_after) {
  const double adjusted_baseline = gpu_seconds_after / (1 - effect.fraction);
  // On the log scale, an end of the interval is a ratio R1/R0, and implies its own baseline. On the plain scale the
  // baseline is the line's and fixed.
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

namespace {

// What a line needs to be trusted (docs/verification.md, "The interval").
constexpr std::size_t kLeastSegments = 12;
constexpr std::size_t kLeastAfter = 4;
constexpr double kLeastSpread = 1.5;
constexpr double kMostCvRmse = 0.25;

// A fitted line with what its error needs.
struct LineFit {
  LeastSquares fit;
  // Center of the fit. The line is surest there.
  double mean_work = 0;
  double mean_gpu_seconds = 0;
  double work_squares = 0;  // around its mean
  CorrelationTime time;

  // Correlated residuals are worth fewer degrees of freedom. At n = 12 they may vanish, so at least 2 remain.
  [[nodiscard]] double Df() const {
    return std::max(kLeastDf, time.Windows(static_cast<double>(fit.residuals.size())) - 2);
  }
};

// Fits GPU-seconds over work by least squares. If the work does not vary, only the mean can be fitted, and the slope is
// 0.
LineFit FitLine(std::span<const WorkSegment> segments) {
  std::vector<std::vector<double>> columns(2);
  std::vector<double> gpu_seconds;
  for (const WorkSegment& segment : segments) {
    columns[0].push_back(1);
    columns[1].push_back(segment.work);
    gpu_seconds.push_back(segment.gpu_seconds);
  }
  LineFit line;
  line.mean_work = MeanOf(columns[1]);
  line.mean_gpu_seconds = MeanOf(gpu_seconds);
  line.work_squares = SquaresAbout(columns[1], line.mean_work);
  std::optional<LeastSquares> fit = FitLeastSquares(columns, gpu_seconds);
  if (!fit) {
    fit = FitLeastSquares(std::span(columns).first(1), gpu_seconds);
    fit->coefficients.push_back(0);
  }
  line.fit = std::move(*fit);
  line.time = CorrelationTimeOf(line.fit.residuals);
  return line;
}

}  // namespace

double ExpectedOf(const LinearBaseline& line, double work) { return line.fixed + line.per_unit * work; }

std::string FaultOfLinearBaseline(std::span<const WorkSegment> before, std::span<const WorkSegment> after) {
  if (before.size() < kLeastSegments) {
    return fmt::format("a line needs {} runs before the change, and there are {}", kLeastSegments, before.size());
  }
  if (after.size() < kLeastAfter) {
    return fmt::format("a line needs {} runs after the change, and there are {}", kLeastAfter, after.size());
  }
  const auto [least, most] = std::minmax_element(
      before.begin(), before.end(), [](const WorkSegment& a, const WorkSegment& b) { return a.work < b.work; });
  if (most->work < kLeastSpread * least->work) {
    return fmt::format("the work of the runs before differs by {:.3g} x at most, and a line needs {:.1f} x",
                       most->work / least->work, kLeastSpread);
  }
  return {};
}

LinearReading ReadLinear(std::span<const WorkSegment> before, std::span<const WorkSegment> after) {
  CHECK(FaultOfLinearBaseline(before, after).empty());
  const LineFit old_line = FitLine(before);
  const LineFit new_line = FitLine(after);
  LinearReading reading;
  reading.line.fixed = old_line.fit.coefficients[0];
  reading.line.per_unit = old_line.fit.coefficients[1];
  reading.line.segments = static_cast<int>(before.size());
  reading.line.cv_rmse = std::sqrt(old_line.fit.residual_variance) / old_line.mean_gpu_seconds;

  double expected = 0;
  double used = 0;
  for (const WorkSegment& segment : after) {
    expected += ExpectedOf(reading.line, segment.work);
    used += segment.gpu_seconds;
  }
  // A line that expects no GPU time for the work after describes nothing.
  reading.fit_for_verdicts = reading.line.cv_rmse <= kMostCvRmse && expected > 0;
  if (expected <= 0) return reading;

  const auto n = static_cast<double>(before.size());
  const auto m = static_cast<double>(after.size());
  // The error of a sum of predictions has two parts: the line at the new work, and the scatter of the new runs around
  // their own line. The first grows with the distance of the new work from the work of the baseline.
  const double away = new_line.mean_work - old_line.mean_work;
  const std::array<VarianceTerm, 2> terms = {
      {{m * m * old_line.fit.residual_variance * old_line.time.tau * (1 / n + away * away / old_line.work_squares),
        old_line.Df()},
       {m * new_line.fit.residual_variance * new_line.time.tau, new_line.Df()}}};
  reading.effect.scale = SavingEffect::Scale::kPlain;
  reading.effect.fraction = 1 - used / expected;
  reading.effect.error = std::sqrt(TotalVariance(terms)) / expected;
  reading.effect.df = WelchDf(terms);
  return reading;
}

}  // namespace idleburn
