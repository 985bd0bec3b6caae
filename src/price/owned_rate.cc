#include "price/owned_rate.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/billing.h"
#include "base/fraction.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::string_view kExample = "write it like capex=250000,life=4,gpus=8";

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
    const std::string_view spelled = Trim(item.substr(0, equals));
    const std::string_view name = spelled == "utilization" ? kFields[kUtilisation].name : spelled;
    const auto field = std::find_if(kFields.begin(), kFields.end(), [&](const FieldInfo& f) { return f.name == name; });
    if (equals == std::string_view::npos || field == kFields.end()) {
      return FailUsage("--owned: '" + std::string(item) +
                       "' is none of capex, residual, life, gpus, kw, pue, tariff, hosting, staff, utilisation; " +
                       std::string(kExample));
    }
    std::optional<Money>& figure = figures[static_cast<std::size_t>(field - kFields.begin())];
    if (figure) return FailUsage("--owned: " + std::string(name) + " is given twice; give it once");
    const std::string_view given = Trim(item.substr(equals + 1));
    if (given.find_first_not_of("-.0123456789") != std::string_view::npos) {
      return FailUsage("--owned: '" + std::string(item) +
                       "' is not a decimal number; write it in full, without k, a unit or "
                       "a currency sign, like capex=250000");
    }
    const Result<Money> value = Money::Parse(given);
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
  if (const std::optional<Money> rounded = rate.AsMoney()) return *rounded;
  return FailUsage("--owned: these figures come to no rate that can be kept; check them");
}

}  // namespace

Result<OwnedRate> ParseOwned(std::string_view text) {
  const Figures parsed = TRY(ParseFigures(text));
  const Figures& figures = parsed;
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
  owned.per_available = TRY(Round(rate));
  if (figures[kUtilisation]) {
    owned.per_used = TRY(Round(rate / Value(figures, kUtilisation)));
  }
  return owned;
}

}  // namespace idleburn
