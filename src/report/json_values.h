#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/money.h"
#include "base/time.h"
#include "text/escape.h"
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

}  // namespace idleburn
