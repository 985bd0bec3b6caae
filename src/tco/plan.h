#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/billing.h"
#include "base/fraction.h"
#include "base/money.h"

namespace idleburn {

// What a total cost of ownership is made of (docs/tco.md). Each appears in every output, given or not.
enum class CostCategory : std::uint8_t {
  kCompute,
  kData,
  kLabour,
  kInfrastructure,
  kInference,
  kOperations,
  kDepreciation,
  kRisk,
};
inline constexpr std::size_t kCostCategoryCount = 8;
inline constexpr std::array<std::string_view, kCostCategoryCount> kCostCategoryNames = {
    "compute", "data", "labour", "infrastructure", "inference", "operations", "depreciation", "risk"};
constexpr std::string_view Name(CostCategory c) { return kCostCategoryNames[static_cast<std::size_t>(c)]; }

// A number of a plan: known, or only between bounds.
struct PlanFigure {
  std::string name;  // "compute.fine-tuning.price"
  Fraction low;
  Fraction likely;
  Fraction high;
  [[nodiscard]] bool ranged() const { return Compare(low, high) < 0; }
};

// Figures multiplied and divided, by their place in the plan.
struct PlanFactor {
  std::size_t figure = 0;
  bool divides = false;
  bool rounds_up = false;  // with it the product is a count of whole things
};
struct PlanTerm {
  bool minus = false;
  bool at_least = false;  // no summand: the line comes to no less
  std::vector<PlanFactor> factors;
};

struct PlanLine {
  CostCategory category = CostCategory::kCompute;
  std::string name;
  std::vector<PlanTerm> terms;
  bool of_compute = false;                 // the terms are a share of all compute
  bool recurring = false;                  // goes on after launch
  std::optional<std::size_t> probability;  // of a risk: also among its factors
  std::optional<std::size_t> price;        // of what it is a number of, where the amount is quantity x price
  std::map<std::string, std::size_t, std::less<>> figures;       // by their key in the file, watts and pue too
  std::optional<std::pair<std::int64_t, std::int64_t>> paid_in;  // first and last month of the plan, from 1; else all
  std::optional<Fraction> grid_kg_per_kwh;                       // of the energy of its GPU-hours
  std::optional<Fraction> embodied_kg_per_gpu_hour;              // of making the hardware
  Fraction hours_per_amount = Fraction::Of(1, 1);                // what levers leave of GPU time / what of the amount
  std::string basis;                                             // "on_demand, gcp us-central1, as of 2026-07-01"

  [[nodiscard]] std::string Key() const { return std::string(Name(category)) + "." + name; }
};

// What changed a line against the plan it came from.
struct PlanLever {
  std::string name;
  std::string line;
  std::string how;       // "x 0.3", "35.0 % less GPU time"
  std::string evidence;  // measured, calibrated or assumed
  std::string todo;      // "train adapters only"; empty where nobody said
};

// What one lever saves of the whole total if it is the only one. They are never added up.
struct LeverSaving {
  std::string name;
  Money saves;
  std::vector<PlanLever> edits;  // a line each
};

// A scenario: everything that is given, nothing computed.
struct TcoPlan {
  std::string name;
  std::string currency = "USD";
  std::optional<Fraction> months;    // the horizon
  std::optional<std::string> start;  // "2026-07": its first month
  int month_hours = kUsualMonthHours;
  Fraction contingency = Fraction::Of(15, 100);
  std::optional<Money> forced_contingency;  // instead of the rate
  std::optional<Money> budget;
  std::vector<PlanFigure> figures;
  std::vector<PlanLine> lines;
  std::map<std::string, Fraction> units;  // "samples" -> how many; "gpu_hours", "utilisation" of one run
  std::vector<PlanLever> levers;
  std::vector<LeverSaving> alone;  // each lever by itself, the largest first
  std::vector<std::string> warnings;
};

}  // namespace idleburn
