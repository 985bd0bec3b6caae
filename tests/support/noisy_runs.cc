#include "support/noisy_runs.h"

#include <cmath>
#include <numbers>

namespace idleburn::testing {
namespace {

// mean 1; `x` is standard normal.
double Factor(const NoiseSpec& spec, double x) {
  switch (spec.shape) {
    case NoiseShape::kNormal:
      return 1 + spec.cv * x;
    case NoiseShape::kLognormal:
      return std::exp(x - 0.5);  // cv sqrt(e - 1) = 131 %
    case NoiseShape::kPareto:
      break;
  }
  constexpr double kTail = 2.2;
  const double above = 0.5 * std::erfc(x / std::numbers::sqrt2);
  const double pareto = std::pow(above, -1 / kTail);
  const double mean = kTail / (kTail - 1);
  const double deviation = std::sqrt(kTail / (kTail - 2)) / (kTail - 1);
  return 1 + spec.cv * (pareto - mean) / deviation;
}

Instant At(double seconds) { return Instant::FromNanos(static_cast<std::int64_t>(seconds * 1e9)); }

}  // namespace

double NoiseSource::Uniform() { return (static_cast<double>(engine_() >> 11U) + 0.5) * 0x1p-53; }

// Box and Muller.
double NoiseSource::Normal() {
  if (spare_) {
    const double value = *spare_;
    spare_.reset();
    return value;
  }
  const double radius = std::sqrt(-2 * std::log(Uniform()));
  const double angle = 2 * std::numbers::pi * Uniform();
  spare_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

std::vector<double> NoiseSource::Series(const NoiseSpec& spec, int n) {
  std::vector<double> factors;
  double x = Normal();
  for (int i = 0; i < n; ++i) {
    factors.push_back(Factor(spec, x));
    x = spec.phi * x + std::sqrt(1 - spec.phi * spec.phi) * Normal();
  }
  return factors;
}

MeasuredRun MakeRun(const std::string& name, double start_s, const std::vector<double>& factors, double ratio,
                    RowShape shape, NoiseSource& noise) {
  MeasuredRun run;
  run.name = name;
  run.sha256 = name;
  run.start = At(start_s);
  run.end = At(start_s + static_cast<double>(factors.size()));
  run.unit = WorkUnit::kStep;
  WorkPiece rows;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    WorkRow row;
    row.end = At(start_s + static_cast<double>(i + 1));
    switch (shape) {
      case RowShape::kConstantWork:
        row.work = 1;
        row.gpu_seconds = ratio * factors[i];
        break;
      case RowShape::kConstantTime:
        row.work = factors[i] / ratio;
        row.gpu_seconds = 1;
        break;
      case RowShape::kBothVary:
        row.work = 0.5 + noise.Uniform();
        row.gpu_seconds = row.work * ratio * factors[i];
        break;
    }
    run.gpu_seconds += row.gpu_seconds;
    run.work += row.work;
    rows.push_back(row);
  }
  run.pieces.push_back(std::move(rows));
  return run;
}

}  // namespace idleburn::testing
