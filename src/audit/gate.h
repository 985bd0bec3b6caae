#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "price/cost_report.h"

namespace idleburn {

// A condition on an audit that a script asked to fail on: "waste>20" (per cent of observed cost), "cost>50" (units of
// the currency), "unobserved>5" (per cent of the window). `text` is the gate as written, for messages. `limit` has the
// unit of its quantity.
struct Gate {
  enum class Quantity : std::uint8_t { kWaste, kCost, kUnobserved };
  Quantity quantity = Quantity::kWaste;
  std::string text;
  Money limit;
};

// Reads the texts of --fail-on. Any other text is a usage error.
Result<std::vector<Gate>> ParseGates(const std::vector<std::string>& texts);

// Returns one sentence for each gate that does not hold. A gate on an unknown figure counts as broken: CI must not pass
// because nothing was measured.
std::vector<std::string> BrokenGates(const std::vector<Gate>& gates, const CostReport& cost);
// Returns all gates as broken, with the reason. For an audit that has no figures.
std::vector<std::string> UnjudgedGates(const std::vector<Gate>& gates, const std::string& why);

}  // namespace idleburn
