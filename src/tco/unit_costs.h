#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tco/plan_cost.h"

namespace idleburn {

// What one of something costs.
struct UnitCost {
  std::string unit;             // "sample", "effective GPU-hour", "1,000 requests"
  std::string of;               // whose money: "total", "compute", "inference.serving"
  std::optional<Money> amount;  // absent: undefined, as nothing was done
};
// Of what [units] names and of the lines that serve requests or tokens.
std::vector<UnitCost> UnitCostsOf(const TcoPlan& plan, const PlanCost& cost);

// The money for GPU-hours in which no work was done; absent without gpu_hours and utilisation.
std::optional<Money> NotBusyCost(const TcoPlan& plan, const PlanCost& cost);

// How many requests or tokens cost as much to serve as all compute did; absent where the line serves none.
struct ServingCrossing {
  std::string line;
  std::string unit;  // "requests"
  Fraction count;
};
std::vector<ServingCrossing> CrossingsOf(const TcoPlan& plan, const PlanCost& cost);

// What is billed by the hour, round the clock.
struct HourlyProjection {
  std::string line;
  Money hour;
  Money month;          // of the plan's month_hours
  Money twelve_months;  // of those
  Money year;           // of 8,760 h
};
std::vector<HourlyProjection> ProjectionsOf(const TcoPlan& plan);

// Replicas that the peak of a line needs.
struct ReplicaCount {
  std::string line;
  Fraction replicas;
  Fraction use;                        // what the peak takes of them
  std::optional<Money> floor_a_month;  // of the fewest that always run
};
std::vector<ReplicaCount> ReplicasOf(const TcoPlan& plan);

// What the GPU-hours of a line emit, with their share of making the hardware; absent where no grid is given.
std::optional<Fraction> CarbonOf(const TcoPlan& plan, const PlanLine& line);

}  // namespace idleburn
