#pragma once

#include <map>
#include <string>

namespace idleburn {

// The facts of a run by their keys, each as last told.
using RunFacts = std::map<std::string, std::string>;

// Told once for each part of the measuring that failed: its value is why. What that part reads is unobserved.
inline constexpr const char* kMeasuringFailedFact = "sampler.failed";

// Empty if it was never told.
inline std::string FactIn(const RunFacts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? std::string() : found->second;
}

}  // namespace idleburn
