#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "places.h"

namespace idleburn::test {

// What the pages of docs/json/ say of one schema: each key, and what its column "null" holds. The title of a page names
// its schema; a long document has several pages. Keys of all documents are on the page "In every document".
using NullColumn = std::map<std::string, std::string>;

inline constexpr std::string_view kInEveryDocument = "In every document";

inline void AddKeysOf(std::istream& page, NullColumn& keys) {
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    std::array<std::string, 3> cells;
    std::size_t at = 1;
    for (std::string& cell : cells) {
      const std::size_t bar = line.find('|', at);
      cell = line.substr(at + 1, bar - at - 1);
      at = bar + 1;
    }
    keys[cells[0].substr(1, cells[0].rfind('`') - 1)] =
        cells[2].find_first_not_of(' ') == std::string::npos ? "" : cells[2];
  }
}

inline NullColumn KeysUnder(std::string_view title) {
  NullColumn keys;
  const std::filesystem::path pages = std::filesystem::path(IDLEBURN_ROOT) / "docs" / "json";
  for (const auto& entry : std::filesystem::directory_iterator(pages)) {
    std::ifstream page(entry.path());
    std::string first;
    std::getline(page, first);
    if (first.find(title) != std::string::npos) AddKeysOf(page, keys);
  }
  return keys;
}

inline NullColumn DocumentedKeys(std::string_view schema) {
  NullColumn keys = KeysUnder("`" + std::string(schema) + "`");
  keys.merge(KeysUnder(kInEveryDocument));
  return keys;
}

// Whether `value` at `path` is the word that `documented` has for a null: "ids.job_reason" of "ids.job".
inline bool IsReasonOfNull(const std::string& path, const nlohmann::json& value, const NullColumn& documented) {
  constexpr std::string_view kReason = "_reason";
  if (!path.ends_with(kReason) || !value.is_string()) return false;
  const auto key = documented.find(path.substr(0, path.size() - kReason.size()));
  return key != documented.end() && key->second.find("`" + value.get<std::string>() + "`") != std::string::npos;
}

// Of a document whose keys are no data: those with a value, as "knobs[].pairs[].before_per_second". Every null is one
// that `documented` explains.
inline void CollectKeys(const std::string& path, const nlohmann::json& value, const NullColumn& documented,
                        std::set<std::string>& met) {
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      CollectKeys(path.empty() ? key : path + "." + key, child, documented, met);
    }
    return;
  }
  if (value.is_array()) {
    for (const nlohmann::json& item : value) CollectKeys(path + "[]", item, documented, met);
    return;
  }
  if (IsReasonOfNull(path, value, documented)) return;
  if (!value.is_null()) {
    met.insert(path);
    return;
  }
  // Of an object that is absent the document explains a key of it.
  const bool known = std::any_of(documented.begin(), documented.end(), [&path](const auto& entry) {
    return !entry.second.empty() && (entry.first == path || entry.first.starts_with(path + "."));
  });
  EXPECT_TRUE(known) << path << " is null, which docs/json/ does not explain";
}

// The document and the writer describe each other: every key that is written is documented, and every documented one
// is written in one of `documents`.
inline void ExpectDocumented(std::string_view schema, std::span<const std::string> documents) {
  const NullColumn documented = DocumentedKeys(schema);
  std::set<std::string> met;
  for (const std::string& document : documents) {
    CollectKeys("", nlohmann::json::parse(document, nullptr, false), documented, met);
  }
  for (const std::string& key : met) EXPECT_TRUE(documented.contains(key)) << key << " is not in docs/json/";
  // What stands in every document has a test of its own (tests/document_ids_test.cc).
  const NullColumn everywhere = KeysUnder(kInEveryDocument);
  for (const auto& [key, null] : documented) {
    EXPECT_TRUE(met.contains(key) || everywhere.contains(key)) << key << " is documented, never written";
  }
}

}  // namespace idleburn::test
