#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/run_ids.h"
#include "report/report_page.h"
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
  RunIds ids;
  std::string today;  // "2026-11-21": when it was asked
};

// Verdict, why, next, then the tables in the order to read; one without rows is a list of its notes.
ReportPage TcoPage(const TcoAnswer& answer);
std::string TcoCsv(const TcoAnswer& answer);
std::string TcoJson(const TcoAnswer& answer);
std::string TcoHtml(const TcoAnswer& answer);

// Titles of tables before which the page has a chart.
inline constexpr std::string_view kTcoCosts = "Costs";
inline constexpr std::string_view kTcoMatters = "What matters";
inline constexpr std::string_view kTcoOwn = "Buy or rent";
inline constexpr std::string_view kTcoMonths = "Month by month, and what it comes to";

}  // namespace idleburn
