#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "base/money.h"
#include "base/time.h"
#include "plan/forecast_outcome.h"
#include "telemetry/run_ids.h"
#include "text/escape.h"
#include "text/json.h"
#include "text/time_zone.h"

namespace idleburn {

// What documents of JSON write alike, for whichever `Json` a writer uses: its library stays out of headers.

// The value, or null where there is none.
template <typename Json, typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// A text as it may be shown, or null for an empty one.
template <typename Json>
Json TextOrNull(std::string_view text) {
  return text.empty() ? Json(nullptr) : Json(Printable(text));
}

template <typename Json>
Json TimeOrNull(const std::optional<Instant>& time) {
  return time ? Json(FormatRfc3339(*time)) : Json(nullptr);
}

// An amount in the minor unit of its currency, and, where it is known, KEY_exact with all its decimals.
template <typename Json>
void PutMoney(Json& json, const std::string& key, const std::optional<Money>& money, std::string_view currency) {
  const int digits = MinorUnitDigits(currency);
  json[key] = money ? Json(FormatMoney(*money, digits)) : Json(nullptr);
  if (money) json[key + "_exact"] = FormatExact(*money, digits);
}

// null, with the sibling key KEY_reason that says why.
template <typename Json>
void PutUnknown(Json& to, const std::string& key, std::string_view reason) {
  to[key] = nullptr;
  to[key + "_reason"] = Printable(reason);
}

template <typename Json>
void PutNumber(Json& to, const std::string& key, std::optional<double> value, std::string_view reason) {
  if (value && std::isfinite(*value)) {
    to[key] = *value;
  } else {
    PutUnknown(to, key, reason);
  }
}

template <typename Json>
void PutText(Json& to, const std::string& key, std::string_view text, std::string_view reason) {
  if (text.empty()) {
    PutUnknown(to, key, reason);
  } else {
    to[key] = Printable(text);
  }
}

// A document with the keys that every one begins with: its schema ("idleburn.plan/1"), and `ids` of what it is about.
// For whichever `Json` a writer uses.
template <typename Json>
Json BeginDocument(std::string_view schema, const RunIds& ids) {
  Json json;
  json["schema"] = schema;
  PutIds(json, ids);
  return json;
}

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
