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

}  // namespace idleburn
