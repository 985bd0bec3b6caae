#include "tco/line_recipes.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

using enum CostCategory;

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

constexpr auto kShares =
    std::to_array<std::string_view>({"utilisation", "share_of_compute", "share", "fraction", "probability",
                                     "contingency", "payback_at", "capital_rate", "cloud_falls_a_year"});

}  // namespace

std::span<const LineRecipe> LineRecipes() { return kRecipes; }

std::vector<RecipeFigure> FiguresOf(const LineRecipe& recipe) {
  std::vector<RecipeFigure> figures;
  std::string_view rest = recipe.formula;
  RecipeFigure next;
  next.starts = true;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word == "*") continue;
    if (word == "/") {
      next.divides = true;
    } else if (word == "-") {
      next.minus = next.starts = true;
    } else if (word == "+") {
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
