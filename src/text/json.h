#pragma once

#include <array>
#include <string>
#include <utility>

#include "base/run_ids.h"
#include "text/escape.h"

namespace idleburn {

// The ids that a document names by themselves, with their keys.
inline constexpr std::array<std::pair<const char*, std::string RunIds::*>, 3> kIdKeys = {
    {{"experiment", &RunIds::experiment}, {"job", &RunIds::job}, {"run", &RunIds::run}}};

// The key `ids` of a document, for whichever `Json` a writer uses.
template <typename Json>
void PutIds(Json& to, const RunIds& ids) {
  Json json;
  for (const auto& [key, id] : kIdKeys) {
    const std::string& text = ids.*id;
    json[key] = text.empty() ? Json(nullptr) : Json(Printable(text));
    if (text.empty()) json[std::string(key) + "_reason"] = ids.not_shared.contains(key) ? "not_shared" : "not_recorded";
  }
  json["named"] = Json::array();
  for (const auto& [name, value] : ids.named) json["named"].push_back({{"name", name}, {"value", Printable(value)}});
  to["ids"] = std::move(json);
}

// Documents of JSON as text, for whichever `Json` a writer uses: its library stays out of headers. What is no UTF-8
// becomes U+FFFD; the library would throw.

template <typename Json>
std::string JsonLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Indented, with a newline at its end.
template <typename Json>
std::string JsonDocument(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace idleburn
