#pragma once

#include <array>
#include <string>
#include <utility>

#include "base/run_ids.h"
#include "text/strings.h"

namespace idleburn {

// JSON that every document shares, so that a script finds the same keys in all of them (docs/json.md). `Json` is the
// type of the writer's library, which stays out of headers because it is slow to compile.

// The ids that have a key of their own in a document.
inline constexpr std::array<std::pair<const char*, std::string RunIds::*>, 3> kIdKeys = {
    {{"experiment", &RunIds::experiment}, {"job", &RunIds::job}, {"run", &RunIds::run}}};

// Sets the key `ids` of a document. An id without a value gets null and a reason: not_recorded, or not_shared if the
// runs of the document have different ones.
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

// A document on one line. Bytes that are no UTF-8 become U+FFFD, because the library would throw.
template <typename Json>
std::string JsonLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// An indented document with a newline at its end.
template <typename Json>
std::string JsonDocument(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace idleburn
