#include "tco/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/money.h"
#include "text/strings.h"

namespace idleburn {

// Numbers, doubts and recipes. The bounds of doubt are wide on purpose: they find a forgotten unit, such as cents or
// megawatt-hours, and not a bad price, which is the user's to judge.

Result<Fraction> ParseDecimal(std::string_view text) {
  const std::string shown = "'" + std::string(text.substr(0, 40)) + "'";
  if (!text.empty() && text.front() == '-') return FailUsage(shown + " is negative; give a cost without a sign");
  constexpr int kMostDigits = 24;
  const bool percent = !text.empty() && text.back() == '%';
  std::string_view rest = percent ? text.substr(0, text.size() - 1) : text;
  // "35 %" is written so too.
  while (percent && !rest.empty() && rest.back() == ' ') rest.remove_suffix(1);
  Int128 top = 0;
  Int128 bottom = percent ? 100 : 1;
  int digits = 0;
  bool point = false;
  for (const char c : rest) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    // Signs, exponents and separators are refused, because programs and countries read them differently.
    if (c < '0' || c > '9' || ++digits > kMostDigits) {
      return FailUsage(shown +
                       " is not a number; write it without a unit, because the key names the unit: 2.50, or 35%");
    }
    top = top * 10 + (c - '0');
    if (point) bottom *= 10;
  }
  if (digits == 0) return FailUsage(shown + " is not a number; write 2.50, or 35%");
  return Fraction::Of(top, bottom);
}

std::string DecimalText(const Fraction& number) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  if (number.too_large) return "more than can be kept";
  const std::optional<Money> part = Fraction{number.top % number.bottom, number.bottom}.AsMoney();
  if (!part) return fmt::format("{}", number.AsDouble());  // thirds of thirds of thirds, and so on
  // Rounding may have carried into the whole.
  const Int128 carried = part->nano() / kBillion;
  const std::string digits = FormatExact(Money::Nano(part->nano() % kBillion), 0);
  return fmt::format("{}{}", number.top / number.bottom + carried, digits.substr(1));
}

namespace {

// Currencies in which bounds in dollars still find a wrong unit.
constexpr auto kNearADollar = std::to_array<std::string_view>({"USD", "EUR", "GBP", "CHF", "CAD", "AUD", "SGD"});

// Figures that make a whole line cost nothing if they are 0.
constexpr auto kNeverZero = std::to_array<std::string_view>(
    {"gpu_hours", "runs", "replicas", "price", "hourly", "hours", "role_months", "monthly_rate", "labelling_hours",
     "seats", "requests", "tokens", "peak_rps", "purchase_price"});

// Bounds in thousandths.
struct PlausibleRange {
  std::string_view key;
  std::int64_t least;
  std::int64_t most;
  bool money;
  std::string_view unit;
  std::string_view instead;  // what was perhaps meant
};
constexpr auto kRanges = std::to_array<PlausibleRange>({
    {"price", 10, 200'000, true, "a GPU-hour", "cents, or the price of a whole server"},
    {"tariff", 5, 2'000, true, "a kWh", "cents, or a price of a MWh"},
    {"pue", 1'000, 3'000, false, "of facility per IT energy", "a percentage; it is never below 1"},
    {"watts", 20'000, 3'000'000, false, "a GPU", "kilowatts, or a whole server"},
    {"per_tb_month", 500, 500'000, true, "a TB-month", "the price of a GB"},
    {"per_gb", 0, 5'000, true, "a GB", "the price of a TB"},
    {"rate", 1'000, 2'000'000, true, "an hour of work", "the rate of a month"},
    {"monthly_rate", 200'000, 200'000'000, true, "a role-month", "the rate of an hour or of a year"},
    {"useful_years", 500, 20'000, false, "years", "months"},
    {"life_years", 500, 20'000, false, "years", "months"},
    {"per_million", 0, 1'000'000, true, "10^6 tokens", "the price of another number of them"},
    {"kilowatts", 100, 1'000'000, false, "kW a server", "watts"},
});

}  // namespace

std::optional<std::string> DoubtOf(std::string_view key, const Fraction& value, std::string_view currency) {
  const auto* range = std::find_if(kRanges.begin(), kRanges.end(), [&](const auto& r) { return r.key == key; });
  if (value.top == 0 && std::find(kNeverZero.begin(), kNeverZero.end(), key) != kNeverZero.end()) {
    return "is 0, so the line costs nothing; is that correct?";
  }
  if (range == kRanges.end() || value.top == 0) return std::nullopt;
  const bool near = std::find(kNearADollar.begin(), kNearADollar.end(), currency) != kNearADollar.end();
  // A bound in dollars means nothing in yen.
  if (range->money && !near) return std::nullopt;
  const Fraction least = Fraction::Of(range->least, 1000);
  const Fraction most = Fraction::Of(range->most, 1000);
  const bool above = Compare(value, most) > 0;
  if (!above && Compare(value, least) >= 0) return std::nullopt;
  return DecimalText(value) + " is " + (above ? "above " : "below ") + DecimalText(above ? most : least) + " " +
         std::string(range->unit) + "; is it " + std::string(range->instead) + "?";
}

namespace {

using enum CostCategory;

// By category, the recipes that need more first. The last of each category takes a plain amount.
constexpr auto kRecipes = std::to_array<LineRecipe>({
    {kCompute, "gpu_hours", "price", "gpu_hours * price * runs?", false},
    {kCompute, "hourly", "", "hourly * month_hours * months", false},
    {kCompute, "amount", "", "amount", false},
    {kData, "labelling_hours", "rate", "labelling_hours * rate", false},
    {kData, "storage_tb", "per_tb_month", "storage_tb * per_tb_month * months * copies?", true},
    {kData, "transfer_gb", "per_gb", "transfer_gb * per_gb", true},
    {kData, "records", "per_record", "records * per_record", false},
    {kData, "amount", "", "amount", false},
    {kLabour, "role_months", "monthly_rate", "role_months * monthly_rate", false},
    {kLabour, "amount", "", "amount", false},
    {kInfrastructure, "seats", "per_seat", "seats * per_seat * months", true},
    {kInfrastructure, "watts", "", "gpu_hours * watts / 1000 * pue? * tariff", true},
    {kInfrastructure, "peak_kilowatts", "", "peak_kilowatts * per_kilowatt_month * months", true},
    {kInfrastructure, "monthly_bill", "", "monthly_bill * share * months", true},
    {kInfrastructure, "monthly", "", "monthly * months", true},
    {kInfrastructure, "amount", "", "amount", true},
    {kInference, "requests per_request", "per_request", "requests * per_request", true},
    {kInference, "requests", "", "requests * price / 3600 / requests_per_s / utilisation", true},
    {kInference, "tokens per_million", "", "tokens * per_million / 1000000", true},
    {kInference, "tokens", "", "tokens * price / 3600 / tokens_per_s / utilisation", true},
    {kInference, "input_tokens", "",
     "input_tokens * input_per_million / 1000000 + output_tokens * output_per_million / 1000000", true},
    // As many replicas as the peak of those hours needs. Where replicas follow the load, a line for each level of it.
    {kInference, "peak_rps", "",
     "peak_rps / utilisation? / rps_per_gpu rounded_up * price * month_hours * months * hours_a_day?24 / 24 "
     "+ headroom * price * month_hours * months * hours_a_day?24 / 24 "
     "at_least minimum_replicas * price * month_hours * months * hours_a_day?24 / 24 "
     "+ cold_starts_a_month * cold_start_hours * price * months + penalty_a_month * months",
     true},
    {kInference, "hourly", "", "hourly * month_hours * months", true},
    {kInference, "hours", "price", "hours * price * replicas?", true},
    {kInference, "amount", "", "amount", true},
    {kOperations, "share_of_compute", "", "share_of_compute", true},
    {kOperations, "monthly", "", "monthly * months", true},
    {kOperations, "amount", "", "amount", true},
    // A year times the horizon: without it six months would be charged as a year.
    {kDepreciation, "purchase_price", "",
     "purchase_price * years * fraction? / useful_years - residual * years * fraction? / useful_years", true},
    {kDepreciation, "amount", "", "amount", true},
    {kRisk, "probability delay_days", "", "probability * delay_days * cost_a_day", false},
    {kRisk, "probability", "", "probability * impact", false},
    {kRisk, "amount", "", "amount", false},
});

// Figures that are shares of a whole.
constexpr auto kShares =
    std::to_array<std::string_view>({"utilisation", "share_of_compute", "share", "fraction", "probability",
                                     "contingency", "payback_at", "capital_rate", "cloud_falls_a_year"});

}  // namespace

std::span<const LineRecipe> LineRecipes() { return kRecipes; }

std::vector<RecipeFigure> FiguresOf(const LineRecipe& recipe) {
  std::vector<RecipeFigure> figures;
  RecipeFigure next;
  next.starts = true;
  for (const std::string_view word : Split(recipe.formula, ' ')) {
    if (word == "*") continue;
    if (word == "/") {
      next.divides = true;
    } else if (word == "-") {
      next.minus = next.starts = true;
    } else if (word == "+") {
      // A sign holds until the next one.
      next.minus = next.at_least = false;
      next.starts = true;
    } else if (word == "at_least") {
      next.minus = false;
      next.at_least = next.starts = true;
    } else if (word == "rounded_up") {
      figures.back().rounds_up = true;
    } else {
      const std::size_t mark = word.find('?');
      next.name = word.substr(0, mark);
      next.optional = mark != std::string_view::npos;
      if (next.optional) next.usual = word.substr(mark + 1);
      figures.push_back(next);
      // Figures of one term share what its sign means, and nothing else.
      RecipeFigure following;
      following.minus = next.minus;
      following.at_least = next.at_least;
      next = following;
    }
  }
  return figures;
}

bool IsShare(std::string_view figure) { return std::find(kShares.begin(), kShares.end(), figure) != kShares.end(); }

}  // namespace idleburn
