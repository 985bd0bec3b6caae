#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "plan/spot_trace.h"

namespace idleburn {

// Weighs machines that one could rent: billed hours, cost and wall-clock of each offer, and which of them to take. A
// spot offer is worked out by the first-order formula where that holds and by simulation where it does not; the basis
// says which, because the two are not equally sure.

// What starting again takes, as the user knows it or a drill has measured it.
struct LaunchFacts {
  // C: training stands while a checkpoint is written.
  Hours checkpoint{};
  // R: from a new machine to training again. The start of it, provisioning, may not be billed.
  Hours restart{};
  Hours unbilled{};
  // The interval that the user fixed. Absent: Young's.
  std::optional<Hours> interval;
  // What one interruption costs in all, if it was measured. Absent: R + tau/2.
  std::optional<Hours> loss;
  // How often an on-demand run writes a checkpoint. Absent: never.
  std::optional<Hours> on_demand_interval;
};

// Machines that one could rent for the run, and how long it would work on them.
struct RunOffer {
  std::string gpu;
  // GPUs in all, and the machines that they are in. Each machine is lost by itself.
  int gpus = 1;
  int nodes = 1;
  bool spot = false;
  Money per_gpu_hour;
  // For a spot offer, the price of the same machine on demand.
  std::optional<Money> on_demand_per_gpu_hour;
  // For a spot offer, the turns of one machine. Absent if unknown.
  std::optional<UpAndDown> machines;
  // Hours of wall-clock, uninterrupted and without checkpoints.
  WorkHours work;
};

// Where billed hours come from. With kNeverInterrupted the rate of lost machines is unknown, so the figures are a lower
// bound.
enum class BilledBasis : std::uint8_t { kOnDemand, kFirstOrder, kSimulation, kMeasuredLoss, kNeverInterrupted };
std::string_view Name(BilledBasis basis);
// How a figure stands to its cap. It is `kTight` if its likely value keeps the cap and its 95th percentile does not.
enum class CapFit : std::uint8_t { kNoCap, kMeets, kTight, kMisses, kUnknown };
std::string_view Name(CapFit fit);

// An amount with the ends of its 90 % interval.
struct CostRange {
  Money low, likely, high;
};

// What one offer comes to.
struct RunOption {
  // The index of the offer.
  std::size_t offer = 0;
  BilledBasis basis = BilledBasis::kOnDemand;
  // 90 % interval around the expected value. Absent where the run would get nowhere. With basis kNeverInterrupted they
  // are the least that it can be.
  // The hours are those of every machine.
  std::optional<WorkHours> billed_hours;
  std::optional<WorkHours> gpu_hours;
  std::optional<CostRange> cost;
  // Median and 95th percentile of the wall-clock. Absent where unknown, or never reached.
  std::optional<Hours> wall_p50, wall_p95;
  // Hours of work between checkpoints.
  std::optional<Hours> interval;
  // How many are expected.
  std::optional<double> interruptions;
  // The overhead o over an on-demand run.
  std::optional<double> overhead;
  // The overhead at which spot costs as much. Absent without the on-demand price.
  std::optional<double> break_even;
  // Of the on-demand cost: 1 - (1 - d)(1 + o), d being the discount.
  std::optional<double> saving;
  // The share of simulated runs that meet the deadline.
  std::optional<double> deadline_met;
  CapFit deadline = CapFit::kNoCap;
  CapFit budget = CapFit::kNoCap;
  CapFit gpu_hours_cap = CapFit::kNoCap;
  // Whether no other option is both cheaper (likely cost) and sooner done (wall_p95).
  bool pareto = false;
};

// Limits that an option must keep; absent: no limit.
struct OptionCaps {
  std::optional<Hours> deadline;
  std::optional<Money> budget;
  std::optional<Hours> gpu_hours = std::nullopt;
};

// Works out every offer, in their order. An offer, a launch or a cap that makes no sense is a usage error that names
// it.
Result<std::vector<RunOption>> WeighOffers(std::span<const RunOffer> offers, const LaunchFacts& launch,
                                           const OptionCaps& caps, const SimulationSpec& simulation = {});

// What to take: the cheapest of the options that keep all caps for sure, else of those that likely do. If there is
// none, `nearest` is the option whose larger overshoot is the smallest. Both are absent if nothing is known.
struct OptionChoice {
  std::optional<std::size_t> best;
  bool tight = false;
  std::optional<std::size_t> nearest;
  // How far the nearest one is off: 0.25 is a quarter beyond a cap.
  double overshoot = 0;
};
OptionChoice ChooseOption(std::span<const RunOption> options, const OptionCaps& caps);

// GPU-hours that a cap in money buys, at a price above 0. A lower price stretches such a cap; nothing stretches a cap
// in GPU-hours.
double MaxGpuHours(Money cap, Money per_gpu_hour);

// The price of so many GPU-hours, rounded once, half to even. Fails on hours that cannot be counted.
Result<Money> CostOf(Money per_gpu_hour, double gpu_hours);
// Overheads that the cost is shown at where no interruption rate is known.
inline constexpr std::array<double, 4> kShownOverheads = {0, 0.05, 0.10, 0.20};

}  // namespace idleburn
