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

// A total cost of ownership before anything is computed. A plan is a list of lines, each a formula over figures, so
// that one plan can be costed exactly, at the ends of its ranges, and by drawing. Figures are kept apart from lines: a
// figure that several lines share must move in all of them at once. Numbers are exact fractions, because sums of money
// must add up to the last digit.

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

// Their names in files and documents, in their order.
inline constexpr std::size_t kCostCategoryCount = 8;
inline constexpr std::array<std::string_view, kCostCategoryCount> kCostCategoryNames = {
    "compute", "data", "labour", "infrastructure", "inference", "operations", "depreciation", "risk"};
// The category's name.
constexpr std::string_view Name(CostCategory c) { return kCostCategoryNames[static_cast<std::size_t>(c)]; }

// A number of a plan: known, or only between bounds. A known one has three equal numbers.
struct PlanFigure {
  // "compute.fine-tuning.price".
  std::string name;
  Fraction low;
  Fraction likely;
  Fraction high;
  [[nodiscard]] bool ranged() const { return Compare(low, high) < 0; }
};

// One figure of a product, by its place in TcoPlan::figures.
struct PlanFactor {
  std::size_t figure = 0;
  bool divides = false;
  // With it the product becomes a count of whole things.
  bool rounds_up = false;
};

// One product of a line's formula.
struct PlanTerm {
  bool minus = false;
  // No summand: the line comes to no less than this term.
  bool at_least = false;
  std::vector<PlanFactor> factors;
};

// One line of a plan: what it is, how its amount is made, and what is known about its price and its energy.
struct PlanLine {
  CostCategory category = CostCategory::kCompute;
  std::string name;
  std::vector<PlanTerm> terms;
  // Whether the terms are a share of all compute.
  bool of_compute = false;
  // Whether the line goes on after launch.
  bool recurring = false;
  // The figure of a risk's probability, which is also among its factors.
  std::optional<std::size_t> probability;
  // The figure of the price, where the amount is quantity x price.
  std::optional<std::size_t> price;
  // Figures by their key in the file, watts and pue too.
  std::map<std::string, std::size_t, std::less<>> figures;
  // First and last month of the plan in which it is paid, from 1. Absent: all of them.
  std::optional<std::pair<std::int64_t, std::int64_t>> paid_in;
  // Kilograms of CO2 by the energy of its GPU-hours, and by making the hardware.
  std::optional<Fraction> grid_kg_per_kwh;
  std::optional<Fraction> embodied_kg_per_gpu_hour;
  // What levers leave of GPU time, by what they leave of the amount: a lower price saves no energy.
  Fraction hours_per_amount = Fraction::Of(1, 1);
  // Where its price comes from: "on_demand, gcp us-central1, as of 2026-07-01".
  std::string basis;

  [[nodiscard]] std::string Key() const { return std::string(Name(category)) + "." + name; }
};

// What changed a line against the plan that it came from.
struct PlanLever {
  std::string name;
  std::string line;
  // What changed: "x 0.3", "35.0 % less GPU time".
  std::string how;
  // "measured", "calibrated" or "assumed".
  std::string evidence;
  // What to do for it: "train adapters only". Empty where nobody said.
  std::string todo;
};

// What one lever saves of the whole total if it is the only one. Savings of several levers are never added up.
struct LeverSaving {
  std::string name;
  Money saves;
  // Its edits, one a line of the plan.
  std::vector<PlanLever> edits;
};

// A scenario: everything that is given, and nothing that is computed. A variant is a whole plan of its own.
struct TcoPlan {
  std::string name;
  std::string currency = "USD";
  // The horizon in months.
  std::optional<Fraction> months;
  // Its first month: "2026-07".
  std::optional<std::string> start;
  int month_hours = kUsualMonthHours;
  Fraction contingency = Fraction::Of(15, 100);
  // An amount that replaces the rate.
  std::optional<Money> forced_contingency;
  std::optional<Money> budget;
  std::vector<PlanFigure> figures;
  std::vector<PlanLine> lines;
  // What one run takes: "samples", "tokens", "gpu_hours", "utilisation" and how much of each.
  std::map<std::string, Fraction> units;
  std::vector<PlanLever> levers;
  // What each lever saves by itself, the largest first.
  std::vector<LeverSaving> alone;
  std::vector<std::string> warnings;
};

}  // namespace idleburn
