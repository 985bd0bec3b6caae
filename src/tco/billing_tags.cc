#include "tco/billing_tags.h"

#include <nlohmann/json.hpp>

namespace idleburn {

BillingTags ReadBillingTags(std::string_view cell) {
  BillingTags tags;
  constexpr std::size_t kMostBytes = 1 << 16;  // a cell nested deeper than the parser's stack is no flat object either
  if (cell.size() > kMostBytes) return tags;
  const nlohmann::json object = nlohmann::json::parse(cell.begin(), cell.end(), nullptr, false);
  if (!object.is_object()) return tags;
  for (const auto& [key, value] : object.items()) {
    if (value.is_string()) tags[key] = value.get<std::string>();
    if (value.is_number() || value.is_boolean()) tags[key] = value.dump();
  }
  return tags;
}

}  // namespace idleburn
