#pragma once

#include <array>
#include <string>
#include <vector>

#include "report/tco_output.h"

namespace idleburn {

// The words and amounts of `idleburn tco`, shared by its page, its tables and its charts. Functions return plain text,
// unescaped: names of lines and scenarios come from the user's file, and each writer escapes them.

// The amounts of a scenario as every table and sentence of `idleburn tco` prints them, in whole minor units. Lines
// are rounded by largest remainder to their rounded sum. A category is the sum of its printed lines, and the
// contingency is what the printed total exceeds the printed subtotal by. So every column adds up.
struct PrintedCost {
  std::vector<Money> lines;
  std::array<Money, kCostCategoryCount> categories{};
  Money subtotal;
  Money contingency;  // the total less the subtotal
  Money total;
};
PrintedCost PrintedCostOf(const TcoScenario& scenario);

// What was paid, and what it will come to. By category; the last entry is what no category claims. Rounded as columns.
struct PrintedPaid {
  std::vector<Money> actual;
  std::vector<Money> at_completion;
};
PrintedPaid PrintedPaidOf(const ActualReport& report, const std::string& currency);

// The months of ActualReport::forecast, rounded as columns.
struct PrintedMonths {
  std::vector<Money> plan;
  std::vector<Money> expected;
};
PrintedMonths PrintedMonthsOf(const ActualReport& report, const std::string& currency);

// The rows of ActualReport::months, as printed. The rows of one month add up to the month of PrintedMonthsOf, so two
// tables agree.
struct PrintedVariances {
  std::vector<Money> plan;
  std::vector<Money> actual;
};
PrintedVariances PrintedVariancesOf(const ActualReport& report, const std::string& currency);

// The sum of amounts. It must fit: these are parts of a total that was checked.
Money SumOf(const std::vector<Money>& amounts);

// An amount for people that was drawn, in currency units; "unknown" if it exceeds what an amount can hold.
std::string TcoAbout(double amount, const std::string& currency);
// "54.5 %". `whole` must be above 0.
std::string TcoShare(Money part, Money whole);
// "6 months", or "no stated horizon".
std::string TcoMonthsText(const std::optional<Fraction>& months);

// The sentences of the page: what it costs, what makes it so, and what to do.
std::string TcoVerdict(const TcoAnswer& answer);
std::vector<std::string> TcoWhy(const TcoAnswer& answer);
std::vector<std::string> TcoNext(const TcoAnswer& answer);

// The lists of the page: unit costs of a scenario, the state of the payments, and how the figures were made.
std::vector<std::string> TcoUnitLines(const TcoScenario& scenario);
std::vector<std::string> TcoActualLines(const ActualReport& report, const std::string& currency);
std::vector<std::string> TcoBasisLines(const TcoAnswer& answer);

// The tables of the page. Amounts are printed to the minor unit, and every column adds up.
ReportTable TcoCostTable(const TcoAnswer& answer);
ReportTable TcoLeverTable(const TcoScenario& scenario, const TcoScenario& first);
ReportTable TcoSureTable(const TcoAnswer& answer);
ReportTable TcoTornadoTable(const TcoScenario& scenario);
ReportTable TcoOwnTable(const OwnOffer& offer, const std::string& currency);
ReportTable TcoVarianceTable(const ActualReport& report, const std::string& currency);
ReportTable TcoMonthTable(const ActualReport& report, const std::string& currency);
// How each line of a scenario is computed. For any scenario but the first, only the lines that differ from it.
ReportTable TcoMadeTable(const TcoScenario& scenario, const TcoScenario& first);

}  // namespace idleburn
