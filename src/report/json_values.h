#pragma once

#include <cmath>
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

}  // namespace idleburn
