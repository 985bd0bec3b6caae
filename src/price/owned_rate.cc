#include "price/owned_rate.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/int128.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::int64_t kHoursPerYear = 8760;
constexpr std::string_view kExample = "write it like capex=250000,life=4,gpus=8";

Int128 Gcd(Int128 a, Int128 b) {
  while (b != 0) {
    const Int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

// An exact fraction in lowest terms, so that a rate is rounded only once. An operation that leaves 128 bits, far
// beyond any sum of money, makes the fraction `too_large`.
struct Fraction {
  Int128 top = 0;
  Int128 bottom = 1;
  bool too_large = false;

  static Fraction Of(Int128 top, Int128 bottom) {
    const Int128 common = Gcd(top, bottom);
    return {top / common, bottom / common, false};
  }
  Fraction operator*(const Fraction& o) const {
    const Fraction a = Of(top, o.bottom);  // reduced crosswise first, to stay small
    const Fraction b = Of(o.top, bottom);
    Fraction product;
    product.too_large = __builtin_mul_overflow(a.top, b.top, &product.top) ||
                        __builtin_mul_overflow(a.bottom, b.bottom, &product.bottom) || too_large || o.too_large;
    return product;
  }
  // The divisor must be positive.
  Fraction operator/(const Fraction& o) const { return *this * Fraction{o.bottom, o.top, o.too_large}; }
  Fraction operator+(const Fraction& o) const {
    Int128 left = 0;
    Int128 right = 0;
    Int128 sum = 0;
    Int128 product = 0;
    const bool overflow = __builtin_mul_overflow(top, o.bottom, &left) ||
                          __builtin_mul_overflow(o.top, bottom, &right) || __builtin_add_overflow(left, right, &sum) ||
                          __builtin_mul_overflow(bottom, o.bottom, &product) || too_large || o.too_large;
    if (overflow) return {0, 1, true};
    return Of(sum, product);
  }
};

enum Field : std::uint8_t {
  kCapex,
  kResidual,
  kLife,
  kGpus,
  kKilowatts,
  kPue,
  kTariff,
  kHosting,
  kStaff,
  kUtilisation,
};

struct FieldInfo {
  std::string_view name;
  bool required;
};
constexpr std::array<FieldInfo, 10> kFields = {{
    {"capex", true},
    {"residual", false},
    {"life", true},
    {"gpus", true},
    {"kw", false},
    {"pue", false},
    {"tariff", false},
    {"hosting", false},
    {"staff", false},
    {"utilisation", false},
}};
using Figures = std::array<std::optional<Money>, kFields.size()>;  // decimals, in billionths

Result<Figures> ParseFigures(std::string_view text) {
  Figures figures;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = Trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = item.find('=');
    const std::string_view name = Trim(item.substr(0, equals));
    const auto field = std::find_if(kFields.begin(), kFields.end(), [&](const FieldInfo& f) { return f.name == name; });
    if (equals == std::string_view::npos || field == kFields.end()) {
      return FailUsage("--owned: '" + std::string(item) +
                       "' is none of capex, residual, life, gpus, kw, pue, tariff, hosting, staff, utilisation; " +
                       std::string(kExample));
    }
    std::optional<Money>& figure = figures[static_cast<std::size_t>(field - kFields.begin())];
    if (figure) return FailUsage("--owned: " + std::string(name) + " is given twice; give it once");
    const Result<Money> value = Money::Parse(Trim(item.substr(equals + 1)));
    if (!value) return FailUsage("--owned: " + std::string(name) + ": " + value.error().message);
    if (*value < Money()) return FailUsage("--owned: " + std::string(name) + " is negative; give a positive number");
    figure = *value;
  }
  return figures;
}

Result<void> CheckFigures(const Figures& figures) {
  constexpr Money kOne = Money::Nano(1'000'000'000);
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (kFields[i].required && !figures[i]) {
      return FailUsage("--owned: " + std::string(kFields[i].name) + " is missing; " + std::string(kExample));
    }
  }
  if (*figures[kLife] == Money()) return FailUsage("--owned: life is 0; give the years of use, like life=4");
  if (*figures[kGpus] == Money() || figures[kGpus]->nano() % kOne.nano() != 0) {
    return FailUsage("--owned: gpus must be a whole number above 0, like gpus=8");
  }
  if (figures[kResidual] && *figures[kResidual] > *figures[kCapex]) {
    return FailUsage("--owned: residual is above capex; it is what the hardware is worth at the end of its life");
  }
  if (figures[kPue] && *figures[kPue] < kOne) {
    return FailUsage("--owned: pue is below 1; it is power of the site / power of the machines, like pue=1.3");
  }
  if (figures[kUtilisation] && (*figures[kUtilisation] == Money() || *figures[kUtilisation] > kOne)) {
    return FailUsage("--owned: utilisation must be above 0 and at most 1, like utilisation=0.6");
  }
  return {};
}

// A figure as an exact number of units; 1 for a factor and 0 for a sum that was not given.
Fraction Value(const Figures& figures, Field field, std::int64_t absent = 0) {
  return figures[field] ? Fraction::Of(figures[field]->nano(), 1'000'000'000) : Fraction::Of(absent, 1);
}

Result<Money> Round(const Fraction& rate) {
  Int128 nano = 0;
  if (rate.too_large || __builtin_mul_overflow(rate.top, Int128{1'000'000'000}, &nano) ||
      !FitsInt64(DivHalfEven(nano, rate.bottom))) {
    return FailUsage("--owned: these figures come to no rate that can be kept; check them");
  }
  return Money::Nano(static_cast<std::int64_t>(DivHalfEven(nano, rate.bottom)));
}

}  // namespace

Result<OwnedRate> ParseOwned(std::string_view text) {
  const Result<Figures> parsed = ParseFigures(text);
  if (!parsed) return tl::unexpected<Error>(parsed.error());
  const Figures& figures = *parsed;
  TRY(CheckFigures(figures));

  const Fraction lost_value =
      Fraction::Of(figures[kCapex]->nano() - figures[kResidual].value_or(Money()).nano(), 1'000'000'000);
  const Fraction depreciation = lost_value / (Value(figures, kLife) * Fraction::Of(kHoursPerYear, 1));
  const Fraction power = Value(figures, kKilowatts) * Value(figures, kPue, 1) * Value(figures, kTariff);
  const Fraction operation = power + Value(figures, kHosting) + Value(figures, kStaff);
  const Fraction rate = (depreciation + operation) / Value(figures, kGpus);

  OwnedRate owned;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (!figures[i] && i != kUtilisation) owned.not_given.push_back(kFields[i].name);
  }
  const Result<Money> available = Round(rate);
  if (!available) return tl::unexpected<Error>(available.error());
  owned.per_available = *available;
  if (figures[kUtilisation]) {
    const Result<Money> used = Round(rate / Value(figures, kUtilisation));
    if (!used) return tl::unexpected<Error>(used.error());
    owned.per_used = *used;
  }
  return owned;
}

}  // namespace idleburn
