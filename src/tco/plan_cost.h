#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tco/plan.h"

namespace idleburn {

// What a plan comes to: exactly, as an estimate with a spread, and per unit of what it buys. Exact sums and estimates
// read the same lines through one set of templates, so that they cannot drift apart. Contingency is on the exact total
// only; drawing already shows the uncertainty that it stands for.

// What a plan costs, exactly. Lines sum to their categories, and categories to the subtotal. Both arrays are in the
// order of CostCategory.
struct PlanCost {
  std::vector<Money> lines;
  std::array<Money, kCostCategoryCount> categories{};
  std::array<bool, kCostCategoryCount> given{};
  Money subtotal;
  // rate x (subtotal - risk): a risk that is priced is not priced again.
  Money contingency;
  // The rate that was given, or that a forced amount implies.
  Fraction contingency_rate;
  Money total;
  // What recurs, a month; 0 without a horizon.
  Money monthly_after_launch;
};

// Every figure at its likely number. Fails where an amount cannot be kept.
Result<PlanCost> CostOfPlan(const TcoPlan& plan);

// A three-point estimate (PERT). Lines are taken as independent, so means add up, and variances too.
struct PertEstimate {
  double mean = 0;
  double deviation = 0;
};
// The estimate of a line from its figures' bounds. It is lowest where what multiplies is low and what divides is high.
PertEstimate PertOf(const TcoPlan& plan, std::size_t line);
// The estimate of all lines but risks, before contingency.
PertEstimate PertOf(const TcoPlan& plan);

// How the total changes when one figure goes from its low to its high number.
struct TornadoBar {
  std::string figure;
  Money low;
  Money high;
};

// A bar for each figure with a range that changes the total, the longest first.
Result<std::vector<TornadoBar>> TornadoOf(const TcoPlan& plan);

// Totals drawn many times. Figures are triangular, a shared figure is drawn once, and a risk happens or does not.
// Totals are before contingency, because both stand for the same uncertainty and are never added.
struct PlanDraws {
  int count = 0;
  std::uint64_t seed = 0;
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  // The chance of it; absent without a budget.
  std::optional<double> over_budget;
};

// Fewer draws leave the 10th and 90th percentile unsteady.
inline constexpr int kFewestDraws = 10'000;
// Draws `count` totals; equal seeds give equal results. Absent where nothing is uncertain.
std::optional<PlanDraws> DrawPlan(const TcoPlan& plan, int count, std::uint64_t seed);

// The share of the total that the second plan saves: 1 - optimised / naive. Absent where the naive one costs nothing.
std::optional<double> SavedShare(const PlanCost& naive, const PlanCost& optimised);

// What one of something costs, or a lot of it where one costs next to nothing.
struct UnitCost {
  // "sample", "effective GPU-hour", "1,000 requests".
  std::string unit;
  // Whose money it is: "total", "compute", "inference.serving".
  std::string of;
  // Absent where nothing was done, so that there is no price of one.
  std::optional<Money> amount;
};
// Unit costs of what [units] names, and of the lines that serve requests or tokens.
std::vector<UnitCost> UnitCostsOf(const TcoPlan& plan, const PlanCost& cost);

// The money for GPU-hours in which no work was done. Absent without gpu_hours and utilisation.
std::optional<Money> NotBusyCost(const TcoPlan& plan, const PlanCost& cost);

// How many requests or tokens cost as much to serve as all compute did. Up to there training is the larger part, beyond
// it serving.
struct ServingCrossing {
  std::string line;
  std::string unit;  // "requests"
  Fraction count;
};

// A crossing for each line that serves, where both sides cost something.
std::vector<ServingCrossing> CrossingsOf(const TcoPlan& plan, const PlanCost& cost);

// What a line that is billed by the hour, round the clock, comes to over longer times.
struct HourlyProjection {
  std::string line;
  Money hour;
  // By the plan's month_hours, and twelve times that.
  Money month;
  Money twelve_months;
  // By 8,760 hours.
  Money year;
};

// A projection for each line with an hourly figure.
std::vector<HourlyProjection> ProjectionsOf(const TcoPlan& plan);

// The replicas that the peak of a line needs, with its headroom and its floor.
struct ReplicaCount {
  std::string line;
  Fraction replicas;
  // The share of the replicas that the peak takes.
  Fraction use;
  // What the fewest that always run cost.
  std::optional<Money> floor_a_month;
};

// A count for each line that states a peak.
std::vector<ReplicaCount> ReplicasOf(const TcoPlan& plan);

// Kilograms of CO2 that the GPU-hours of a line emit, with their share of making the hardware. Absent where no grid is
// given.
std::optional<Fraction> CarbonOf(const TcoPlan& plan, const PlanLine& line);

}  // namespace idleburn
