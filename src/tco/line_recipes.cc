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
    {kData, "storage_tb", "per_tb_month", "storage_tb * per_tb_month * months", true},
    {kData, "transfer_gb", "per_gb", "transfer_gb * per_gb", true},
    {kData, "amount", "", "amount", false},
    {kLabour, "role_months", "monthly_rate", "role_months * monthly_rate", false},
    {kLabour, "amount", "", "amount", false},
    {kInfrastructure, "seats", "per_seat", "seats * per_seat * months", true},
    {kInfrastructure, "watts", "", "gpu_hours * watts / 1000 * pue? * tariff", true},
    {kInfrastructure, "peak_kilowatts", "", "peak_kilowatts * per_kilowatt_month * months", true},
    {kInfrastructure, "monthly", "", "monthly * months", true},
    {kInfrastructure, "amount", "", "amount", true},
    {kInference, "requests per_request", "per_request", "requests * per_request", true},
    {kInference, "requests", "", "requests * price / 3600 / requests_per_s / utilisation", true},
    {kInference, "tokens per_million", "", "tokens * per_million / 1000000", true},
    {kInference, "tokens", "", "tokens * price / 3600 / tokens_per_s / utilisation", true},
    // As many replicas as the peak needs, all the time.
    {kInference, "peak_rps", "",
     "peak_rps / rps_per_gpu rounded_up * price * month_hours * months + headroom * price * month_hours * months "
     "at_least minimum_replicas * price * month_hours * months",
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
    {kRisk, "probability", "", "probability * impact", false},
    {kRisk, "amount", "", "amount", false},
});

constexpr auto kShares =
    std::to_array<std::string_view>({"utilisation", "share_of_compute", "fraction", "probability", "contingency"});

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
      next.minus = false;
      next.starts = true;
    } else if (word == "at_least") {
      next.minus = false;
      next.at_least = next.starts = true;
    } else if (word == "rounded_up") {
      figures.back().rounds_up = true;
    } else {
      next.optional = word.back() == '?';
      next.name = next.optional ? word.substr(0, word.size() - 1) : word;
      figures.push_back(next);
      next = RecipeFigure{{}, false, false, next.minus, next.at_least};
    }
  }
  return figures;
}

bool IsShare(std::string_view figure) { return std::find(kShares.begin(), kShares.end(), figure) != kShares.end(); }

}  // namespace idleburn
