#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "verify/measured_run.h"

namespace idleburn::testing {

// Made-up runs whose true ratio is known, for simulations of the protocol. Shares nothing with the product's own
// statistics: another generator, other formulas.
enum class NoiseShape : std::uint8_t { kNormal, kLognormal, kPareto };
// How work and time vary from row to row.
enum class RowShape : std::uint8_t { kConstantWork, kConstantTime, kBothVary };

struct NoiseSpec {
  NoiseShape shape = NoiseShape::kNormal;
  double phi = 0;    // correlation of neighbouring rows (of the underlying normal series)
  double cv = 0.15;  // of kNormal and kPareto; kLognormal has 131 %
};

class NoiseSource {
 public:
  explicit NoiseSource(std::uint64_t seed) : engine_(seed) {}
  double Uniform();  // in (0, 1)
  double Normal();
  // AR(1) with mean 1: a stationary series of factors on the time a unit of work takes.
  std::vector<double> Series(const NoiseSpec& spec, int n);

 private:
  std::mt19937_64 engine_;
  std::optional<double> spare_;
};

// A run of one row for each factor, a second long in time, that begins at `start_s`. E(g)/E(w) = `ratio`.
MeasuredRun MakeRun(const std::string& name, double start_s, const std::vector<double>& factors, double ratio,
                    RowShape shape, NoiseSource& noise);

}  // namespace idleburn::testing
