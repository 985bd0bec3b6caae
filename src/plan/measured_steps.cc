#include "plan/measured_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "plan/plan_words.h"
#include "text/figures.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Every figure of the line is a weighted sum of the measured times, so its variance follows from theirs. Far from the
// measured sizes the weights are large, and the interval is wide. The law itself is only nearly true (attention grows
// with the square of a sequence, a small step waits for launches), so a forecast has that error too.

namespace {

constexpr std::size_t kMostPoints = 64;
constexpr double kSigmas = 1.6449;  // of a normal 90 % interval
// What the middle of some steady steps is off, at 90 %: an engineering value, that of a probe (docs/plan.md).
constexpr double kTimeError = 0.05;
// What the law is off at a size that was not measured, at 90 %. Two probes of published fine-tuning runs missed other
// lengths by 22.8 % at the 95th percentile; this is the same normal error at the 90th.
constexpr double kLawError = 0.19;
// A larger size that takes less by more than this was not measured on steady steps.
constexpr double kFall = 0.05;
constexpr double kMostlyFixed = 0.5;
constexpr int kTimeDecimals = 9;

// A time unit and its seconds. The longer name comes first where it ends in the shorter one.
constexpr auto kTimeUnits =
    std::to_array<std::pair<std::string_view, double>>({{"ms", 1e-3}, {"us", 1e-6}, {"min", 60}, {"s", 1}});

std::string SizeText(double size) { return fmt::format("{:.10g}", size); }

// The variance of a measured time by its rounding and scatter.
double VarianceOf(const MeasuredStep& step) {
  return step.rounding * step.rounding / 12 + step.scatter * step.scatter / step.steps;
}

// Weighted sums over sizes x: 1, x and x^2.
struct Sums {
  std::vector<double> weights;
  double w = 0;
  double wx = 0;
  double wxx = 0;

  [[nodiscard]] double determinant() const { return w * wxx - wx * wx; }
  // How much the i-th time counts in a, and in b.
  [[nodiscard]] double InFixed(std::size_t i, double x) const { return weights[i] * (wxx - wx * x) / determinant(); }
  [[nodiscard]] double InSlope(std::size_t i, double x) const { return weights[i] * (w * x - wx) / determinant(); }
};

// Weights relative to the largest, so that nothing overflows. Times without rounding or scatter count alike.
Sums SumsOf(const std::vector<MeasuredStep>& points) {
  double least = 0;
  for (const MeasuredStep& step : points) {
    const double variance = VarianceOf(step);
    if (variance > 0 && (least == 0 || variance < least)) least = variance;
  }
  Sums sums;
  for (const MeasuredStep& step : points) {
    const double weight = least > 0 ? least / std::max(least, VarianceOf(step)) : 1;
    sums.weights.push_back(weight);
    sums.w += weight;
    sums.wx += weight * step.size;
    sums.wxx += weight * step.size * step.size;
  }
  return sums;
}

// The standard deviation of a weighted sum of the times; `count` gives each one's factor.
template <typename Factor>
double DeviationOf(const StepLine& line, Factor factor) {
  const double steady = kTimeError / kSigmas;
  double variance = 0;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const MeasuredStep& step = line.points[i];
    const double share = factor(i, step.size);
    variance += share * share * (VarianceOf(step) + steady * steady * step.seconds * step.seconds);
  }
  return std::sqrt(variance);
}

LikelyRange WithDeviation(double likely, double deviation) {
  return {likely, std::max(0.0, likely - kSigmas * deviation), likely + kSigmas * deviation};
}

// A time, and what stands behind "+-" and "/".
Result<MeasuredStep> ReadMeasured(std::string_view text) {
  const std::size_t spread = text.find("+-");
  MeasuredStep step = TRY(ReadStepTime(text.substr(0, spread)));
  if (spread == std::string_view::npos) return step;
  const std::string_view behind = text.substr(spread + 2);
  const std::size_t slash = behind.find('/');
  step.scatter = TRY(ReadStepTime(behind.substr(0, slash))).seconds;
  if (slash != std::string_view::npos) step.steps = TRY(ParseCount("steps", behind.substr(slash + 1)));
  return step;
}

// Why the times, by size, say nothing of another size; empty if they do.
std::string FaultOf(const std::vector<MeasuredStep>& points) {
  if (points.size() < 2) return "one size says nothing of another; measure two, like 512=0.182s,4096=0.911s";
  for (std::size_t i = 1; i < points.size(); ++i) {
    const MeasuredStep& before = points[i - 1];
    const MeasuredStep& step = points[i];
    if (step.size == before.size) {
      return fmt::format("size {} is given twice; give each size once", SizeText(step.size));
    }
    if (step.seconds < before.seconds * (1 - kFall)) {
      return fmt::format("the time falls from size {} to {}; measure steady steps, without warm-up",
                         SizeText(before.size), SizeText(step.size));
    }
  }
  if (points.back().seconds > points.front().seconds) return "";
  return fmt::format("sizes {} and {} take the same time, so only the fixed cost was measured; measure a larger size",
                     SizeText(points.front().size), SizeText(points.back().size));
}

}  // namespace

Result<MeasuredStep> ReadStepTime(std::string_view text) {
  const std::string shown(Trim(text).substr(0, 20));
  std::string_view digits = Trim(text);
  const auto unit =
      std::find_if(kTimeUnits.begin(), kTimeUnits.end(), [&](const auto& one) { return digits.ends_with(one.first); });
  if (unit != kTimeUnits.end()) digits = Trim(digits.substr(0, digits.size() - unit->first.size()));
  const bool plain = digits.find_first_not_of("0123456789.") == std::string_view::npos;
  const ScaledNumber number = ParseScaled(digits, kTimeDecimals);
  if (unit == kTimeUnits.end() || !plain || number.fault != NumberFault::kNone) {
    return FailUsage("'" + shown + "' is not a time; write 182ms or 0.182s");
  }
  if (number.value <= 0) return FailUsage("the time " + shown + " is not above 0");
  const std::size_t point = digits.find('.');
  const std::size_t decimals = point == std::string_view::npos ? 0 : digits.size() - point - 1;
  MeasuredStep step;
  step.seconds = static_cast<double>(number.value) / 1e9 * unit->second;
  step.rounding = std::pow(10.0, -static_cast<double>(decimals)) * unit->second;
  return step;
}

Result<std::vector<MeasuredStep>> ReadMeasuredSteps(std::string_view key, std::string_view text) {
  std::vector<MeasuredStep> points;
  for (const std::string_view part : Split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return FailUsage(fmt::format("'{}' is not SIZE=TIME; write 512=0.182s,4096=0.911s", Trim(part).substr(0, 30)));
    }
    const double size = TRY(ParseCount(key, part.substr(0, equals)));
    points.push_back(TRY(ReadMeasured(part.substr(equals + 1))));
    points.back().size = size;
    if (points.size() > kMostPoints) return FailUsage(fmt::format("more than {} sizes are given", kMostPoints));
  }
  return points;
}

Result<StepLine> FitSteps(std::vector<MeasuredStep> points) {
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
  if (const std::string fault = FaultOf(points); !fault.empty()) return FailUsage(fault);
  StepLine line;
  line.points = std::move(points);
  const Sums sums = SumsOf(line.points);
  double a = 0;
  double b = 0;
  double wxt = 0;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const MeasuredStep& step = line.points[i];
    a += sums.InFixed(i, step.size) * step.seconds;
    b += sums.InSlope(i, step.size) * step.seconds;
    wxt += sums.weights[i] * step.size * step.seconds;
  }
  // No step takes less than nothing: the line then goes through 0.
  if (a < 0) {
    a = 0;
    b = wxt / sums.wxx;
  }
  if (!(b > 0) || !std::isfinite(a) || !std::isfinite(b)) {
    return FailUsage("the times do not grow with size; measure steady steps at sizes further apart");
  }
  line.fixed.likely = a;
  line.slope.likely = b;
  for (const MeasuredStep& step : line.points) {
    const double residual = std::abs(step.seconds / line.At(step.size) - 1);
    if (residual < line.worst_residual) continue;
    line.worst_residual = residual;
    line.worst_size = step.size;
  }
  line.fixed = WithDeviation(a, DeviationOf(line, [&](std::size_t i, double x) { return sums.InFixed(i, x); }));
  line.slope = WithDeviation(b, DeviationOf(line, [&](std::size_t i, double x) { return sums.InSlope(i, x); }));
  return line;
}

LikelyRange StepSecondsAt(const StepLine& line, double size) {
  const Sums sums = SumsOf(line.points);
  const double likely = line.At(size);
  const double deviation =
      DeviationOf(line, [&](std::size_t i, double x) { return sums.InFixed(i, x) + sums.InSlope(i, x) * size; });
  const double law = std::max(kLawError, line.worst_residual);
  const double factor = 1 + std::hypot(kSigmas * deviation / likely, law);
  // As many times shorter as longer, because no step takes less than nothing.
  LikelyRange range = {likely, likely / factor, likely * factor};
  const double nearest = std::clamp(size, line.points.front().size, line.points.back().size);
  if (nearest == size) return range;
  // A larger step takes no less time than a smaller one, and no step is slower for each of its size than a smaller one.
  const LikelyRange end = StepSecondsAt(line, nearest);
  range.low = std::max(range.low, end.low * std::min(1.0, size / nearest));
  if (size < nearest) range.high = std::min(range.high, end.high);
  return range;
}

std::vector<std::string> DoubtsOf(const StepForecast& forecast) {
  std::vector<std::string> doubts;
  const StepLine& line = forecast.line;
  const double smallest = line.points.front().size;
  const double largest = line.points.back().size;
  if (!line.Measured(forecast.size)) {
    doubts.push_back(fmt::format(
        "{} is outside of the measured sizes, {} to {}: the interval widens. Long sequences take more, because "
        "attention grows with the square; measure nearer",
        SizeText(forecast.size), SizeText(smallest), SizeText(largest)));
  }
  const double fixed = line.fixed.likely / line.At(largest);
  if (forecast.size > largest && fixed > kMostlyFixed) {
    doubts.push_back(
        fmt::format("{} of the largest measured step is fixed cost, so its speed is hardly seen", PercentText(fixed)));
  }
  return doubts;
}

}  // namespace idleburn
