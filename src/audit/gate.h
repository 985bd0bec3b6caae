#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "price/cost_report.h"

namespace idleburn {

// A condition on an audit that a script asked to fail on: "waste>20" (per cent of observed cost), "cost>50"
// (currency units), "unobserved>5" (per cent of the window).
struct Gate {
  enum class Quantity : std::uint8_t { kWaste, kCost, kUnobserved };
  Quantity quantity = Quantity::kWaste;
  std::string text;
  Money limit;
};

Result<std::vector<Gate>> ParseGates(const std::vector<std::string>& texts);

// The gates that do not hold, one sentence each. What is not known cannot hold its gate.
std::vector<std::string> BrokenGates(const std::vector<Gate>& gates, const CostReport& cost);
// The same where there is nothing to judge them by: all of them, and why.
std::vector<std::string> UnjudgedGates(const std::vector<Gate>& gates, const std::string& why);

}  // namespace idleburn
