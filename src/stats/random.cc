#include "stats/random.h"

#include <array>
#include <cmath>

#include "base/result.h"

namespace idleburn {
namespace {

// Of PCG's congruential generator.
constexpr std::uint64_t kMultiplier = 6364136223846793005ULL;

using Coefficients = std::array<double, 8>;  // of a polynomial, lowest power first

// By Horner's rule.
double Polynomial(const Coefficients& c, double x) {
  double value = 0;
  for (std::size_t i = c.size(); i > 0; --i) value = value * x + c[i - 1];
  return value;
}

// AS 241: ratios of polynomials for the middle, the tails and the far tails.
constexpr Coefficients kMiddleTop = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                     3.3430575583588128105e4, 2.5090809287301226727e3};
constexpr Coefficients kMiddleBottom = {1.0,
                                        4.2313330701600911252e1,
                                        6.8718700749205790830e2,
                                        5.3941960214247511077e3,
                                        2.1213794301586595867e4,
                                        3.9307895800092710610e4,
                                        2.8729085735721942674e4,
                                        5.2264952788528545610e3};
constexpr Coefficients kTailTop = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                   3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                   2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr Coefficients kTailBottom = {1.0,
                                      2.05319162663775882187e0,
                                      1.67638483018380384940e0,
                                      6.89767334985100004550e-1,
                                      1.48103976427480074590e-1,
                                      1.51986665636164571966e-2,
                                      5.47593808499534494600e-4,
                                      1.05075007164441684324e-9};
constexpr Coefficients kFarTop = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                  2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                  2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr Coefficients kFarBottom = {1.0,
                                     5.99832206555887937690e-1,
                                     1.36929880922735805310e-1,
                                     1.48753612908506148525e-2,
                                     7.86869131145613259100e-4,
                                     1.84631831751005468180e-5,
                                     1.42151175831644588870e-7,
                                     2.04426310338993978564e-15};

}  // namespace

// The start of O'Neill's pcg32_srandom: one step before the seed is added and one after.
Random::Random(std::uint64_t seed, std::uint64_t stream) : increment_((stream << 1U) | 1U) {
  Next();
  state_ += seed;
  Next();
}

std::uint32_t Random::Next() {
  const std::uint64_t old = state_;
  state_ = old * kMultiplier + increment_;
  const auto shifted = static_cast<std::uint32_t>(((old >> 18U) ^ old) >> 27U);
  const auto turn = static_cast<std::uint32_t>(old >> 59U);
  return (shifted >> turn) | (shifted << ((32U - turn) & 31U));
}

double Random::Uniform() {
  const std::uint64_t high = Next();
  const std::uint64_t bits = (high << 20U) | (Next() >> 12U);
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;  // the half keeps it off 0 and 1
}

double Random::Normal() { return NormalQuantile(Uniform()); }

// Rejection: a draw is repeated until it is accepted, which nearly every first one is. The number of draws therefore
// varies.
double Random::Gamma(double shape) {
  CHECK(shape >= 0);
  if (shape == 0) return 0;
  if (shape < 1) {
    const double above = Gamma(shape + 1);
    return above * std::pow(Uniform(), 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = Normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(Uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double NormalCdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

double NormalQuantile(double p) {
  CHECK(p > 0 && p < 1);
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * Polynomial(kMiddleTop, r) / Polynomial(kMiddleBottom, r);
  }
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double z = r <= 5 ? Polynomial(kTailTop, r - 1.6) / Polynomial(kTailBottom, r - 1.6)
                          : Polynomial(kFarTop, r - 5) / Polynomial(kFarBottom, r - 5);
  return q < 0 ? -z : z;
}

}  // namespace idleburn
