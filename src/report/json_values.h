#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "plan/plan_report.h"
#include "telemetry/run_facts.h"
#include "text/json.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {

// Values that all JSON documents of idleburn write in the same way (docs/json.md). `Json` is a template parameter, so
// that this header does not include the JSON library, which is slow to compile.

// The value, or null if there is none.
template <typename Json, typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Text as it may be shown, or null if it is empty. Text from an input may hold control characters.
template <typename Json>
Json TextOrNull(std::string_view text) {
  return text.empty() ? Json(nullptr) : Json(Printable(text));
}

// RFC 3339 in UTC, or null.
template <typename Json>
Json TimeOrNull(const std::optional<Instant>& time) {
  return time ? Json(FormatRfc3339(*time)) : Json(nullptr);
}

// Seconds, or null.
template <typename Json>
Json SecondsOrNull(const std::optional<Nanos>& time) {
  return time ? Json(InSeconds(*time)) : Json(nullptr);
}

// Writes KEY in the currency's minor unit and KEY_exact with all decimals. KEY is for display and is rounded; sums must
// use KEY_exact. KEY is null without an amount, and KEY_exact is then left out.
template <typename Json>
void PutMoney(Json& json, const std::string& key, const std::optional<Money>& money, std::string_view currency) {
  const int digits = MinorUnitDigits(currency);
  json[key] = money ? Json(FormatMoney(*money, digits)) : Json(nullptr);
  if (money) json[key + "_exact"] = FormatExact(*money, digits);
}

// Writes null, and KEY_reason with a word that says why. Null never means zero.
template <typename Json>
void PutUnknown(Json& to, const std::string& key, std::string_view reason) {
  to[key] = nullptr;
  to[key + "_reason"] = Printable(reason);
}

// What a reader must know about the data: rows with an id, a count, a severity and a sentence.
template <typename Json, typename Doubt>
Json DoubtsJson(const std::vector<Doubt>& doubts) {
  Json rows = Json::array();
  for (const Doubt& doubt : doubts) {
    rows.push_back({{"id", doubt.id},
                    {"count", doubt.count},
                    {"severity", doubt.severity},
                    {"sentence", Printable(doubt.sentence)}});
  }
  return rows;
}

// A number that is infinite or not a number is treated as unknown, because JSON has neither.
template <typename Json>
void PutNumber(Json& to, const std::string& key, std::optional<double> value, std::string_view reason) {
  if (value && std::isfinite(*value)) {
    to[key] = *value;
  } else {
    PutUnknown(to, key, reason);
  }
}

// An empty text counts as unknown.
template <typename Json>
void PutText(Json& to, const std::string& key, std::string_view text, std::string_view reason) {
  if (text.empty()) {
    PutUnknown(to, key, reason);
  } else {
    to[key] = Printable(text);
  }
}

// A document with the keys that every document begins with: its schema ("idleburn.plan/1") and the ids of its subject.
// They come first, so that a reader of many documents can stop after a few bytes.
template <typename Json>
Json BeginDocument(std::string_view schema, const RunIds& ids) {
  Json json;
  json["schema"] = schema;
  PutIds(json, ids);
  return json;
}

// The forecast of a run beside what came. Until the run has ended, the actual values and errors are null.
// `run.forecast` must have a value.
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
