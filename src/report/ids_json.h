#pragma once

#include <string_view>

#include "telemetry/run_ids.h"
#include "text/json.h"

namespace idleburn {

// A document with the keys that every one begins with: its schema ("idleburn.plan/1"), and `ids` of what it is about.
// For whichever `Json` a writer uses.
template <typename Json>
Json BeginDocument(std::string_view schema, const RunIds& ids) {
  Json json;
  json["schema"] = schema;
  PutIds(json, ids);
  return json;
}

}  // namespace idleburn
