#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/run_ids.h"
#include "report/format_writers.h"
#include "report/report_page.h"
#include "tco/actuals.h"
#include "tco/plan_cost.h"

namespace idleburn {

// One scenario of a cost plan with everything that follows from it (docs/tco.md).
struct TcoScenario {
  TcoPlan plan;
  PlanCost cost;
  // Absent if no line is uncertain, by a range or by a risk.
  std::optional<PlanDraws> draws;
  std::vector<TornadoBar> tornado;
};

// What `idleburn tco` found. There is at least one scenario. The others are compared with the first, and actual
// payments are held against the first.
struct TcoAnswer {
  std::vector<TcoScenario> scenarios;
  std::optional<OwnOffer> own;
  std::optional<ActualReport> actuals;  // payments, against the first scenario
  std::vector<std::string> warnings;
  RunIds ids;
  std::string today;  // the day of the question: "2026-11-21"
};

// Verdict, why, next, then the tables in the order of reading. A table without rows is a list of its notes.
ReportPage TcoPage(const TcoAnswer& answer);
// One row per line, category and month, exact amounts. Column `measure` says plan, actual or forecast. A category that
// was not given has a row with given = false.
std::string TcoCsv(const TcoAnswer& answer);
// The document of docs/json.md, schema idleburn.tco/1.
std::string TcoJson(const TcoAnswer& answer);
// The page with charts: one self-contained file without scripts.
std::string TcoHtml(const TcoAnswer& answer);

inline constexpr auto kTcoWriters = std::to_array<FormatWriter<TcoAnswer>>({
    {ReportFormat::kText, AsText<TcoPage>},
    {ReportFormat::kJson, OnAnyPaper<TcoJson>},
    {ReportFormat::kHtml, OnAnyPaper<TcoHtml>},
    {ReportFormat::kCsv, OnAnyPaper<TcoCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<TcoPage>},
});

// Titles of tables that have a chart in HTML. The chart is found by the title of its table.
inline constexpr std::string_view kTcoCosts = "Costs";
inline constexpr std::string_view kTcoMatters = "What matters";
inline constexpr std::string_view kTcoOwn = "Buy or rent";
inline constexpr std::string_view kTcoMonths = "Month by month, and what it comes to";

}  // namespace idleburn
