#pragma once

#include "plan/forecast_outcome.h"
#include "report/json_values.h"

namespace idleburn {

// What was forecast of a run and what came, as documents of JSON say it; nothing came yet of one that goes on.
template <typename Json>
Json ForecastJson(const HistoryRun& run) {
  const ForecastOutcome outcome = OutcomeOf(run);
  const bool over = run.state == RunState::kEnded;
  Json json = {{"basis", run.forecast->basis}};
  json["currency"] = TextOrNull<Json>(run.forecast->currency);
  json["partial"] = TextOrNull<Json>(over ? outcome.why_partial : "");
  json["figures"] = Json::array();
  for (const ForecastLine& line : outcome.lines) {
    const bool known = line.forecast.has_value();
    Json figure = {{"quantity", kForecastQuantityNames[static_cast<std::size_t>(line.quantity)]}};
    figure["forecast"] = known ? Json(line.forecast->likely) : Json();
    figure["low"] = known ? Json(line.forecast->low) : Json();
    figure["high"] = known ? Json(line.forecast->high) : Json();
    figure["actual"] = over ? OrNull<Json>(line.actual) : Json();
    figure["error"] = figure["inside"] = nullptr;
    if (over && line.comparable) {
      const JudgedForecast judged = {run.id, "", line.quantity, *line.forecast, *line.actual};
      figure["error"] = judged.Error();
      if (judged.HasInterval()) figure["inside"] = judged.Inside();
    }
    json["figures"].push_back(std::move(figure));
  }
  return json;
}

}  // namespace idleburn
