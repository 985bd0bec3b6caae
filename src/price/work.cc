#include "price/work.h"

#include <algorithm>
#include <array>
#include <optional>

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

namespace {

constexpr std::array<std::string_view, 4> kUnits = {"samples", "tokens", "steps", "epochs"};
constexpr std::size_t kDecimals = 9;

// A plain decimal above 0, in billionths. Absent for anything else.
std::optional<Int128> ParseCount(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string fraction(point == std::string_view::npos ? std::string_view() : text.substr(point + 1));
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  if (text.size() < (point == std::string_view::npos ? 1U : 2U) || fraction.size() > kDecimals || !AllDigits(whole) ||
      !AllDigits(fraction))
    return std::nullopt;
  fraction.resize(kDecimals, '0');
  const std::optional<std::int64_t> units = whole.empty() ? 0 : ParseInteger(whole);
  if (!units) return std::nullopt;
  const Int128 count = *units * WorkDone::kOne + *ParseInteger(fraction);
  return count > 0 ? std::optional(count) : std::nullopt;
}

}  // namespace

Result<WorkDone> ParseWork(std::string_view text) {
  WorkDone work;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = Trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = item.find('=');
    const std::string unit(Trim(item.substr(0, equals)));
    if (equals == std::string_view::npos || std::find(kUnits.begin(), kUnits.end(), unit) == kUnits.end()) {
      return FailUsage("--work: '" + std::string(item) +
                       "' counts none of samples, tokens, steps, epochs; write it like samples=200000");
    }
    const std::optional<Int128> count = ParseCount(Trim(item.substr(equals + 1)));
    if (!count) {
      return FailUsage("--work: '" + std::string(item) + "' is no count above 0; write a plain decimal like " + unit +
                       "=200000");
    }
    if (!work.units.emplace(unit, *count).second) return FailUsage("--work: " + unit + " is given twice; give it once");
  }
  return work;
}

std::string_view Singular(std::string_view unit) {
  if (!unit.empty() && unit.back() == 's') unit.remove_suffix(1);
  return unit;
}

namespace {

constexpr Int128 kBillion = 1'000'000'000;
// Below the first, nine decimals show fewer than three digits; the second is reached with nine digits.
constexpr std::int64_t kThreeDigits = 100;
constexpr std::int64_t kNineDigits = 100'000'000;

}  // namespace

std::optional<CostOfOne> CostOfOne::Of(Money whole, Int128 count_in_billionths) {
  const Result<Money> money = Scale(whole, kBillion, count_in_billionths);
  if (!money) return std::nullopt;
  CostOfOne cost(*money);
  if (cost.digits >= kThreeDigits) return cost;
  Int128 scaled = static_cast<Int128>(whole.nano()) * kBillion;
  while (scaled % count_in_billionths != 0 && scaled / count_in_billionths < kNineDigits) {
    scaled *= 10;
    ++cost.decimals;
  }
  cost.digits = static_cast<std::int64_t>(DivHalfEven(scaled, count_in_billionths));
  return cost;
}

CostOfOne CostOfOne::PerMillion() const {
  CostOfOne million = *this;
  million.decimals -= 6;
  return million;
}

std::string FormatExact(const CostOfOne& cost, int min_digits) {
  const auto decimals = static_cast<std::size_t>(cost.decimals);
  std::string text = std::to_string(cost.digits);
  if (text.size() <= decimals) text.insert(0, decimals + 1 - text.size(), '0');
  text.insert(text.size() - decimals, 1, '.');
  // Zeros at the end go, but not the minor unit's.
  const std::size_t least = text.size() - decimals + static_cast<std::size_t>(min_digits);
  text.resize(std::max(least, text.find_last_not_of('0') + 1));
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace idleburn
