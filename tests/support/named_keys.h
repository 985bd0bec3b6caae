#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "places.h"

namespace idleburn::testing {

// The names of all keys of a document, without the siblings that every document has (docs/json.md).
inline void CollectNames(const nlohmann::json& value, std::set<std::string>& names) {
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      const bool sibling = key.ends_with("_exact") || key.ends_with("_reason");
      if (key == "ids" || key == "schema") continue;
      if (!sibling) names.insert(key);
      CollectNames(child, names);
    }
  }
  if (value.is_array()) {
    for (const nlohmann::json& item : value) CollectNames(item, names);
  }
}

// Every key of a document is named on a page of docs/json/, where rows may name several: `teams[].cost`, `share`.
inline void ExpectNamed(const nlohmann::json& document, const std::string& page) {
  std::ostringstream text;
  text << std::ifstream(std::filesystem::path(IDLEBURN_ROOT) / "docs" / "json" / page).rdbuf();
  std::set<std::string> names;
  CollectNames(document, names);
  EXPECT_FALSE(names.empty());
  for (const std::string& name : names) {
    const bool named = text.str().find("`" + name + "`") != std::string::npos ||
                       text.str().find("." + name + "`") != std::string::npos ||
                       text.str().find("`" + name + "[]") != std::string::npos ||
                       text.str().find("`" + name + ".") != std::string::npos;
    EXPECT_TRUE(named) << name << " is not in docs/json/" << page;
  }
}

}  // namespace idleburn::testing
