#include "report/plan_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plan/plan_report.h"
#include "report/json_values.h"
#include "report/plan_output.h"
#include "report/report_page.h"
#include "text/figures.h"
#include "text/json.h"
#include "text/strings.h"
#include "text/time_zone.h"

// Forecasts against results. Every launched plan keeps its forecast with its run, so errors are measured and not
// claimed. All forecasts count, bad ones too: there is no flag to leave one out. Months are in UTC and go by the end of
// a run, because only then the result is known.

namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMonthLength = 7;  // of "2026-11"
// An id of eight digits is enough to find a run again.
constexpr std::size_t kShortId = 8;

// A share as a table shows it. With too few forecasts there is no median, and the cell says how many it needs: "n 3 of
// 5".
std::string ErrorShareText(const std::optional<double>& share, std::size_t n, std::size_t needed) {
  return share ? PercentText(*share) : fmt::format("n {} of {}", n, needed);
}

// One row for each month and quantity. Hours and memory have errors of different kinds, so they are never averaged.
std::vector<TableRow> ErrorRows(const ForecastErrors& errors) {
  std::vector<TableRow> rows;
  for (const MonthOfErrors& m : errors.months) {
    rows.push_back({m.month, std::string(Title(m.quantity)), std::to_string(m.n),
                    ErrorShareText(m.median, m.n, kFewestForecasts), ErrorShareText(m.p95, m.n, kFewestForTail),
                    ErrorShareText(m.bias, m.n, kFewestForecasts), ErrorShareText(m.coverage, m.n, kFewestForecasts),
                    PercentText(m.worst_error), m.worst_run.substr(0, kShortId)});
  }
  return rows;
}

// What the table rests on: how many forecasts, and which were left out and why.
std::string ForecastCounts(const ForecastErrors& errors) {
  std::string text = fmt::format("Forecasts kept: {}", errors.forecasts);
  if (errors.running > 0) text += fmt::format("; {} left out, because their runs have not ended", errors.running);
  if (errors.partial > 0) {
    text += fmt::format("; {} counted by speed and memory only, because their runs did other work", errors.partial);
  }
  if (errors.scenario > 0) text += fmt::format("; closed months of the scenario: {}", errors.scenario);
  return text + ".";
}

}  // namespace

ForecastErrors ErrorsOf(const std::vector<HistoryRun>& runs, std::vector<JudgedForecast> months) {
  ForecastErrors errors;
  errors.scenario = months.size();
  std::vector<JudgedForecast> judged = std::move(months);
  std::vector<RunIds> ids;
  for (const HistoryRun& run : runs) {
    if (!run.forecast) continue;
    ++errors.forecasts;
    // A run that was interrupted has no result. Its forecast is neither right nor wrong.
    if (run.state != RunState::kEnded || !run.ended) {
      ++errors.running;
      continue;
    }
    ids.push_back(IdsOfKept(run));
    const ForecastOutcome outcome = OutcomeOf(run);
    // A run that did other work than planned still shows whether speed and memory were right.
    errors.partial += outcome.why_partial.empty() ? 0U : 1U;
    const std::string month = FormatRfc3339(*run.ended).substr(0, kMonthLength);
    for (const ForecastLine& line : outcome.lines) {
      if (line.comparable) judged.push_back({run.id, month, line.quantity, *line.forecast, *line.actual});
    }
  }
  errors.months = ErrorsByMonth(judged);
  errors.ids = SharedIds(ids);
  return errors;
}

ReportPage ForecastErrorsPage(const ForecastErrors& errors) {
  ReportPage page;
  page.heading = "Forecasts against results";
  page.title = TitleAndIds("Forecasts of the history", errors.ids);
  page.verdict = ForecastCounts(errors);
  // An empty table would look like forecasts without error.
  if (errors.months.empty()) {
    page.next = {"There is no forecast to judge yet: start runs with idleburn plan --launch -- CMD."};
    return page;
  }
  const bool few = std::any_of(errors.months.begin(), errors.months.end(),
                               [](const MonthOfErrors& m) { return m.n < kFewestForTail; });
  if (few) {
    page.why = {fmt::format("A cell with n has too few runs: a median needs {}, a 95th percentile {}.",
                            kFewestForecasts, kFewestForTail)};
  }
  page.tables = {{"Errors by month",
                  {{"month"},
                   {"of"},
                   {"n", kRight},
                   {"median error", kRight},
                   {"95th percentile", kRight},
                   {"bias", kRight},
                   {"inside 90 %", kRight},
                   {"worst", kRight},
                   {"run"}},
                  ErrorRows(errors),
                  {"error: forecast / actual - 1; bias: mean signed error, above 0 if the forecast was too high. "
                   "Months in UTC, by the end of a run."}}};
  return page;
}

std::string ForecastErrorsCsv(const ForecastErrors& errors) {
  // Shares are fractions here, with six decimals, so that a spreadsheet can go on with them.
  std::string csv = "month,quantity,n,median,p95,bias,coverage,worst_error,worst_run\n";
  const auto cell = [](const std::optional<double>& value) { return value ? fmt::format("{:.6f}", *value) : ""; };
  for (const MonthOfErrors& m : errors.months) {
    csv += fmt::format("{},{},{},{},{},{},{},{:.6f},{}\n", m.month,
                       kForecastQuantityNames[static_cast<std::size_t>(m.quantity)], m.n, cell(m.median), cell(m.p95),
                       cell(m.bias), cell(m.coverage), m.worst_error, m.worst_run);
  }
  return csv;
}

std::string ForecastErrorsJson(const ForecastErrors& errors) {
  // Every key is always there, with null for what is not known, so that a program need not test for keys.
  Json json = BeginDocument<Json>("idleburn.forecast_errors/1", errors.ids);
  json["history"] = Printable(errors.file);
  json["forecasts"] = errors.forecasts;
  json["not_ended"] = errors.running;
  json["partial"] = errors.partial;
  json["scenario_months"] = errors.scenario;
  json["months"] = Json::array();
  for (const MonthOfErrors& m : errors.months) {
    json["months"].push_back({{"month", m.month},
                              {"quantity", kForecastQuantityNames[static_cast<std::size_t>(m.quantity)]},
                              {"n", m.n},
                              {"enough", m.n >= kFewestForTail},
                              {"median", OrNull<Json>(m.median)},
                              {"p95", OrNull<Json>(m.p95)},
                              {"bias", OrNull<Json>(m.bias)},
                              {"coverage", OrNull<Json>(m.coverage)},
                              {"worst_error", m.worst_error},
                              {"worst_run", m.worst_run}});
  }
  return JsonDocument(json);
}

}  // namespace idleburn
