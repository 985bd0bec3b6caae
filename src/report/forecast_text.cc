#include "report/forecast_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "plan/memory.h"
#include "report/display.h"
#include "text/number.h"
#include "text/table.h"

namespace idleburn {
namespace {

constexpr double kNano = 1e9;

std::string FigureText(ForecastQuantity quantity, double value, const std::string& currency) {
  switch (quantity) {
    case ForecastQuantity::kHours:
    case ForecastQuantity::kGpuHours:
      return value < 1 ? fmt::format("{:.4g}", value) : fmt::format("{:.4f}", value);
    case ForecastQuantity::kCost:
    case ForecastQuantity::kScenarioCost:
      return Amount(Money::Nano(std::llround(value * kNano)), currency);
    case ForecastQuantity::kTokensPerSecond:
      return fmt::format("{:.0f}", value);
    case ForecastQuantity::kMemory:
      return fmt::format("{:.2f} GiB", value / kGib);
  }
  return "";
}

}  // namespace

std::string_view Title(ForecastQuantity quantity) {
  constexpr auto kTitles = std::to_array<std::string_view>(
      {"hours", "GPU-hours", "cost", "tokens/s per GPU", "memory of one GPU", "cost of a scenario"});
  static_assert(kTitles.size() == kForecastQuantityNames.size());
  return kTitles[static_cast<std::size_t>(quantity)];
}

std::string OutcomeText(const HistoryRun& run, int width) {
  constexpr auto kRight = TableColumn::Align::kRight;
  const ForecastOutcome outcome = OutcomeOf(run);
  const std::vector<TableColumn> columns = {{"Forecast against actual"}, {"forecast", kRight},
                                            {"90 % interval", kRight},   {"actual", kRight},
                                            {"forecast is", kRight},     {"inside"}};
  std::vector<TableRow> rows;
  int inside = 0;
  int intervals = 0;
  for (const ForecastLine& line : outcome.lines) {
    const auto text = [&](double value) { return FigureText(line.quantity, value, run.forecast->currency); };
    const JudgedForecast judged = {run.id, "", line.quantity, line.forecast.value_or(LikelyRange()),
                                   line.actual.value_or(0)};
    TableRow row = {std::string(Title(line.quantity))};
    row.push_back(line.forecast ? text(line.forecast->likely) : "unknown");
    row.push_back(judged.HasInterval() ? text(line.forecast->low) + " to " + text(line.forecast->high) : "none");
    row.push_back(line.actual ? text(*line.actual) : "unknown");
    if (line.comparable) {
      row.push_back(PercentText(std::abs(judged.Error())) + (judged.Error() < 0 ? " low" : " high"));
    } else {
      row.emplace_back("not compared");
    }
    if (line.comparable && judged.HasInterval()) {
      ++intervals;
      inside += judged.Inside() ? 1 : 0;
      row.emplace_back(judged.Inside() ? "yes" : "no");
    }
    rows.push_back(std::move(row));
  }
  std::string text = fmt::format("Forecast: {} of {} figures with a 90 % interval lie inside it. Basis: {}.\n", inside,
                                 intervals, run.forecast->basis);
  if (!outcome.why_partial.empty()) {
    text += fmt::format("Hours, GPU-hours and cost are not compared: {}.\n", outcome.why_partial);
  }
  return text + LayOutTable(columns, rows, width, 0);
}

}  // namespace idleburn
