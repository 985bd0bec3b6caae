#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/money.h"
#include "plan/spot_simulation.h"

namespace idleburn {

// What starting again takes, as known or as a drill has measured it.
struct LaunchFacts {
  Hours checkpoint{};                       // C: training stands while it is written
  Hours restart{};                          // R: from a new machine to training again
  Hours unbilled{};                         // the start of R that is not billed: provisioning
  std::optional<Hours> interval;            // fixed by the user; absent: Young's
  std::optional<Hours> loss;                // what one interruption costs in all, measured; absent: R + tau/2
  std::optional<Hours> on_demand_interval;  // how often an on-demand run writes a checkpoint; absent: never
};

// Machines that one could rent for the run, and how long it would work on them.
struct RunOffer {
  std::string gpu;
  int gpus = 1;   // in all
  int nodes = 1;  // machines that they are in: each is lost by itself
  bool spot = false;
  Money per_gpu_hour;
  std::optional<Money> on_demand_per_gpu_hour;  // of the same machine, for a spot offer
  std::optional<UpAndDown> machines;            // of one machine, for a spot offer; absent: nobody knows
  WorkHours work;                               // wall-clock, uninterrupted and without checkpoints
};

// Where billed hours come from.
enum class BilledBasis : std::uint8_t { kOnDemand, kFirstOrder, kSimulation, kMeasuredLoss, kNeverInterrupted };
// How a figure stands to its cap: `kTight` if its likely value keeps it, but not its 95th percentile.
enum class CapFit : std::uint8_t { kNoCap, kMeets, kTight, kMisses, kUnknown };

struct CostRange {
  Money low, likely, high;
};

struct RunOption {
  std::size_t offer = 0;  // its index
  BilledBasis basis = BilledBasis::kOnDemand;
  // 90 % interval around the expected value. Absent where the run would get nowhere. With basis kNeverInterrupted they
  // are the least that it can be.
  std::optional<WorkHours> billed_hours;  // of every machine
  std::optional<WorkHours> gpu_hours;
  std::optional<CostRange> cost;
  std::optional<Hours> wall_p50, wall_p95;  // absent where unknown, or never reached
  std::optional<Hours> interval;            // between checkpoints
  std::optional<double> interruptions;      // expected
  std::optional<double> overhead;           // o, over an on-demand run
  std::optional<double> break_even;         // the o at which spot costs as much; absent without the on-demand price
  std::optional<double> saving;             // 1 - (1 - d)(1 + o), of the on-demand cost
  std::optional<double> deadline_met;       // share of simulated runs
  CapFit deadline = CapFit::kNoCap;
  CapFit budget = CapFit::kNoCap;
  CapFit gpu_hours_cap = CapFit::kNoCap;
  bool pareto = false;  // no other option is both cheaper (likely cost) and sooner done (wall_p95)
};

struct OptionCaps {
  std::optional<Hours> deadline;
  std::optional<Money> budget;
  std::optional<Hours> gpu_hours = std::nullopt;
};

// Works out every offer, in their order. An offer that makes no sense is a usage error that names it.
Result<std::vector<RunOption>> WeighOffers(std::span<const RunOffer> offers, const LaunchFacts& launch,
                                           const OptionCaps& caps, const SimulationSpec& simulation = {});

// What to take. Of those that keep all caps for sure the cheapest; else, of those that likely do; else none, and
// `nearest` is the one that comes closest: its larger overshoot is the smallest. Both absent if all is unknown.
struct OptionChoice {
  std::optional<std::size_t> best;
  bool tight = false;
  std::optional<std::size_t> nearest;
  double overshoot = 0;  // of the nearest: 0.25 is a quarter beyond a cap
};
OptionChoice ChooseOption(std::span<const RunOption> options, const OptionCaps& caps);

// GPU-hours that a cap in money buys, at a price above 0. A lower price stretches it; a cap in GPU-hours nothing does.
double MaxGpuHours(Money cap, Money per_gpu_hour);

// Rounded once, half to even.
Result<Money> CostOf(Money per_gpu_hour, double gpu_hours);
// Overheads to show the cost at where no interruption rate is known.
inline constexpr std::array<double, 4> kShownOverheads = {0, 0.05, 0.10, 0.20};

}  // namespace idleburn
