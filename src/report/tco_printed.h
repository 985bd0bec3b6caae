#pragma once

#include <array>
#include <string>
#include <vector>

#include "report/tco_output.h"

namespace idleburn {

// Amounts as every table and sentence of `idleburn tco` prints them, in whole minor units: sums are half to even of the
// exact sum, and their parts add up to them (largest remainder).
struct PrintedCost {
  std::vector<Money> lines;
  std::array<Money, kCostCategoryCount> categories{};
  Money subtotal;
  Money contingency;  // what the total has more than the subtotal
  Money total;
};
PrintedCost PrintedCostOf(const TcoScenario& scenario);

// What was paid, and what it comes to: by category and, last, what none claims.
struct PrintedPaid {
  std::vector<Money> actual;
  std::vector<Money> at_completion;
};
PrintedPaid PrintedPaidOf(const ActualReport& report, const std::string& currency);

// By month of ActualReport::forecast.
struct PrintedMonths {
  std::vector<Money> plan;
  std::vector<Money> expected;
};
PrintedMonths PrintedMonthsOf(const ActualReport& report, const std::string& currency);

// By row of ActualReport::months; those of a month add up to what PrintedMonthsOf has for it.
struct PrintedVariances {
  std::vector<Money> plan;
  std::vector<Money> actual;
};
PrintedVariances PrintedVariancesOf(const ActualReport& report, const std::string& currency);

Money SumOf(const std::vector<Money>& amounts);

}  // namespace idleburn
