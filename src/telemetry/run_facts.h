#pragma once

#include <map>
#include <string>

namespace idleburn {

// The facts of a run by their keys, each as last told.
using RunFacts = std::map<std::string, std::string>;

// Empty if it was never told.
inline std::string FactIn(const RunFacts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? std::string() : found->second;
}

}  // namespace idleburn
