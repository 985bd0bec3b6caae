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

// "24,782.50": to the minor unit, grouped.
std::string TcoAmount(Money m, const std::string& currency);
// The same of a drawn amount, in whole units; "unknown" where it is beyond money.
std::string TcoAbout(double amount, const std::string& currency);
// "24,782.50 USD".
std::string TcoPaid(Money m, const std::string& currency);
// A fraction with so many decimals, grouped; "unknown" where it is too large to keep.
std::string TcoDecimal(const Fraction& f, int digits);
// "54.5 %" of a whole that is above 0.
std::string TcoShare(Money part, Money whole);
// "6 months".
std::string TcoMonthsText(const std::optional<Fraction>& months);

std::string TcoVerdict(const TcoAnswer& answer);
std::vector<std::string> TcoWhy(const TcoAnswer& answer);
std::vector<std::string> TcoNext(const TcoAnswer& answer);

// Lists.
std::vector<std::string> TcoUnitLines(const TcoScenario& scenario);
std::vector<std::string> TcoActualLines(const ActualReport& report, const std::string& currency);
std::vector<std::string> TcoBasisLines(const TcoAnswer& answer);

// Tables, as printed: to the minor unit, and so that every column adds up.
ReportTable TcoCostTable(const TcoAnswer& answer);
ReportTable TcoLeverTable(const TcoScenario& scenario, const TcoScenario& first);
ReportTable TcoSureTable(const TcoAnswer& answer);
ReportTable TcoTornadoTable(const TcoScenario& scenario);
ReportTable TcoOwnTable(const OwnOffer& offer, const std::string& currency);
ReportTable TcoVarianceTable(const ActualReport& report, const std::string& currency);
ReportTable TcoMonthTable(const ActualReport& report, const std::string& currency);
// Of one that is not the first, only what is made in another way than there.
ReportTable TcoMadeTable(const TcoScenario& scenario, const TcoScenario& first);

}  // namespace idleburn
