#include "price/cost_of_one.h"

#include <algorithm>

namespace idleburn {
namespace {

constexpr Int128 kBillion = 1'000'000'000;
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
  const std::size_t least = text.size() - decimals + static_cast<std::size_t>(min_digits);
  text.resize(std::max(least, text.find_last_not_of('0') + 1));
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace idleburn
