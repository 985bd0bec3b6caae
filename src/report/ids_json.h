#pragma once

#include <utility>

#include "report/json_values.h"
#include "report/run_ids.h"

namespace idleburn {

// The key `ids` of a document.
template <typename Json>
void PutIds(Json& to, const RunIds& ids) {
  Json json;
  PutText(json, "experiment", ids.experiment, "not_recorded");
  PutText(json, "job", ids.job, "not_recorded");
  PutText(json, "run", ids.run, "not_recorded");
  json["named"] = Json::array();
  for (const auto& [name, value] : ids.named) json["named"].push_back({{"name", name}, {"value", Printable(value)}});
  to["ids"] = std::move(json);
}

}  // namespace idleburn
