#pragma once

#include <optional>

#include "base/int128.h"
#include "base/money.h"

namespace idleburn {

// An exact fraction in lowest terms, so that what is computed with it is rounded only once: a yearly amount divided
// by twelve and multiplied by twelve is the yearly amount again. Cost plans are computed with it (tco). An operation
// that leaves 128 bits, far beyond any sum of money, sets `too_large`; so does every operation on such a fraction.
struct Fraction {
  Int128 top = 0;
  Int128 bottom = 1;  // above 0
  bool too_large = false;

  // Reduces top / bottom. `bottom` is above 0.
  static Fraction Of(Int128 top, Int128 bottom) {
    const Int128 common = Divisor(top, bottom);
    return {top / common, bottom / common, false};
  }
  static Fraction Of(Money amount) { return Of(amount.nano(), 1'000'000'000); }

  friend Fraction operator*(const Fraction& x, const Fraction& y) {
    const Fraction a = Of(x.top, y.bottom);  // reduced crosswise first, to stay small
    const Fraction b = Of(y.top, x.bottom);
    Fraction product;
    product.too_large = __builtin_mul_overflow(a.top, b.top, &product.top) ||
                        __builtin_mul_overflow(a.bottom, b.bottom, &product.bottom) || x.too_large || y.too_large;
    return product.too_large ? Fraction{0, 1, true} : product;
  }
  // The divisor must be positive, or too large.
  friend Fraction operator/(const Fraction& x, const Fraction& y) {
    return y.too_large ? y : x * Fraction{y.bottom, y.top, false};
  }
  friend Fraction operator+(const Fraction& x, const Fraction& y) {
    Int128 left = 0;
    Int128 right = 0;
    Int128 sum = 0;
    Int128 product = 0;
    const bool overflow = __builtin_mul_overflow(x.top, y.bottom, &left) ||
                          __builtin_mul_overflow(y.top, x.bottom, &right) ||
                          __builtin_add_overflow(left, right, &sum) ||
                          __builtin_mul_overflow(x.bottom, y.bottom, &product) || x.too_large || y.too_large;
    return overflow ? Fraction{0, 1, true} : Of(sum, product);
  }
  friend Fraction operator-(const Fraction& x, const Fraction& y) {
    return x + Fraction{-y.top, y.bottom, y.too_large};
  }
  // -1, 0 or 1: the sign of x - y. 0 if the difference is too large to compute.
  friend int Compare(const Fraction& x, const Fraction& y) {
    const Fraction difference = x - y;
    return difference.top < 0 ? -1 : difference.top > 0 ? 1 : 0;
  }

  // The nearest double, for display and statistics.
  [[nodiscard]] double AsDouble() const { return static_cast<double>(top) / static_cast<double>(bottom); }
  // Rounded half to even to a billionth. Absent if that is more than Money holds.
  [[nodiscard]] std::optional<Money> AsMoney() const {
    Int128 nano = 0;
    if (too_large || __builtin_mul_overflow(top, Int128{1'000'000'000}, &nano)) return std::nullopt;
    const Int128 rounded = DivHalfEven(nano, bottom);
    return FitsInt64(rounded) ? std::optional(Money::Nano(static_cast<std::int64_t>(rounded))) : std::nullopt;
  }

 private:
  // The greatest common divisor, by Euclid's algorithm.
  static Int128 Divisor(Int128 a, Int128 b) {
    while (b != 0) {
      const Int128 rest = a % b;
      a = b;
      b = rest;
    }
    return a < 0 ? -a : a;
  }
};

}  // namespace idleburn
