#include "audit/gate.h"

#include <fmt/format.h>

#include <array>

// Gates are judged by exact money and unrounded shares, never by the figures as printed. Example: a waste of 20.004 %
// breaks waste>20, although the report shows 20.00 %. Limits are read as Money, because that reads decimals exactly;
// the limit of a percentage counts per cents.

namespace idleburn {
namespace {

// The quantities that may stand before the ">" of a gate.
struct GateName {
  std::string_view text;
  Gate::Quantity quantity;
};
constexpr auto kNames = std::to_array<GateName>(
    {{"waste", Gate::Quantity::kWaste}, {"cost", Gate::Quantity::kCost}, {"unobserved", Gate::Quantity::kUnobserved}});

// Reads one gate. A "%" may follow the number, but not that of a cost.
Result<Gate> ParseGate(const std::string& text) {
  const std::size_t sign = text.find('>');
  // A limit below 0 could never hold, so it is a mistake and no gate.
  for (const GateName& name : kNames) {
    if (sign == std::string::npos || text.substr(0, sign) != name.text) continue;
    const bool per_cent = name.quantity != Gate::Quantity::kCost && text.ends_with('%');
    const Result<Money> limit = Money::Parse(text.substr(sign + 1, text.size() - sign - 1 - (per_cent ? 1 : 0)));
    if (limit && limit->nano() >= 0) return Gate{name.quantity, text, *limit};
  }
  return FailUsage("--fail-on: '" + text.substr(0, 40) + "' is none of waste>PERCENT, cost>AMOUNT, unobserved>PERCENT");
}

}  // namespace

Result<std::vector<Gate>> ParseGates(const std::vector<std::string>& texts) {
  std::vector<Gate> gates;
  for (const std::string& text : texts) {
    Gate gate = TRY(ParseGate(text));
    gates.push_back(std::move(gate));
  }
  return gates;
}

std::vector<std::string> BrokenGates(const std::vector<Gate>& gates, const CostReport& cost) {
  std::vector<std::string> broken;
  const double limit_scale = 1e-9;
  for (const Gate& gate : gates) {
    const double limit = static_cast<double>(gate.limit.nano()) * limit_scale;
    const double window = static_cast<double>(cost.whole.window_ns);
    const double unobserved = window > 0 ? 100.0 * static_cast<double>(cost.whole.unobserved_ns) / window : 0;
    switch (gate.quantity) {
      case Gate::Quantity::kWaste:
        if (cost.whole.observed_ns == 0) {
          broken.push_back(gate.text + ": not judged: nothing was observed");
        } else if (100 * cost.waste_share > limit) {
          broken.push_back(fmt::format("{}: waste is {:.2f} % of observed {}", gate.text, 100 * cost.waste_share,
                                       cost.several() && cost.whole.unpriced.window_ns == 0 ? "cost" : "time"));
        }
        break;
      case Gate::Quantity::kUnobserved:
        if (window == 0) {
          broken.push_back(gate.text + ": not judged: nothing was measured");
        } else if (unobserved > limit) {
          broken.push_back(fmt::format("{}: {:.2f} % of the window is unobserved", gate.text, unobserved));
        }
        break;
      case Gate::Quantity::kCost:
        // If some GPUs have no price, the total is a lower bound. It can break a gate but cannot satisfy one.
        if (!cost.whole.total) {
          broken.push_back(gate.text + ": not judged: the cost is not known; give --price");
        } else if (cost.whole.unpriced.window_ns > 0 && *cost.whole.total <= gate.limit) {
          broken.push_back(gate.text + ": not judged: the cost of some GPUs is not known; give --price for them too");
        } else if (*cost.whole.total > gate.limit) {
          broken.push_back(gate.text + ": the cost is " +
                           FormatMoney(*cost.whole.total, MinorUnitDigits(cost.rate.currency)) + " " +
                           cost.rate.currency);
        }
        break;
    }
  }
  return broken;
}

std::vector<std::string> UnjudgedGates(const std::vector<Gate>& gates, const std::string& why) {
  std::vector<std::string> broken;
  for (const Gate& gate : gates) broken.push_back(gate.text + ": not judged: " + why);
  return broken;
}

}  // namespace idleburn
