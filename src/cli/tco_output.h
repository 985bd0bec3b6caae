#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tco/actuals.h"
#include "tco/own_or_rent.h"
#include "tco/plan_cost.h"
#include "tco/unit_costs.h"

namespace idleburn {

// One scenario with everything that follows from it.
struct TcoScenario {
  TcoPlan plan;
  PlanCost cost;
  std::optional<PlanDraws> draws;
  std::vector<TornadoBar> tornado;
};

// What `idleburn tco` found. At least one scenario; the first is what the others are compared with.
struct TcoAnswer {
  std::vector<TcoScenario> scenarios;
  std::optional<OwnOffer> own;
  std::optional<ActualReport> actuals;  // against the first
  std::vector<std::string> warnings;
};

std::string TcoText(const TcoAnswer& answer, int width);
std::string TcoCsv(const TcoAnswer& answer);
std::string TcoJson(const TcoAnswer& answer);
std::string TcoHtml(const TcoAnswer& answer);

// What the writers share: the table of costs, a row a category and beneath it a row a line, as printed: to the minor
// unit, and so that every column adds up.
struct TcoRow {
  std::string label;
  std::optional<CostCategory> category;  // absent: subtotal, contingency, total
  bool part = false;                     // a line of the category above
  std::vector<std::string> cells;        // one a scenario, then what was paid to date where that is known
};
std::vector<std::string> TcoColumns(const TcoAnswer& answer);
std::vector<TcoRow> TcoRows(const TcoAnswer& answer);

// A month of a category against its plan, as printed.
std::vector<std::string> TcoMonthHeaders(const std::string& currency);
std::vector<std::vector<std::string>> TcoMonthRows(const ActualReport& report, const std::string& currency);

// Sentences on what an hour, a sample, a token cost; on owning; on actuals.
std::vector<std::string> TcoUnitLines(const TcoScenario& scenario);
std::vector<std::string> TcoLeverLines(const TcoScenario& scenario);
std::vector<std::string> TcoOwnLines(const OwnOffer& offer, const std::string& currency);
std::vector<std::string> TcoUncertaintyLines(const TcoScenario& scenario);
std::vector<std::string> TcoActualLines(const ActualReport& report, const std::string& currency);
std::vector<std::string> TcoBasisLines(const TcoAnswer& answer);
std::string TcoVerdict(const TcoAnswer& answer);

}  // namespace idleburn
