#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ratio>
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
  // For a spot offer, the turns of one machine. Absent: nobody knows them.
  std::optional<UpAndDown> machines;
  // Hours of wall-clock, uninterrupted and without checkpoints.
  WorkHours work;
};

// Where billed hours come from. With kNeverInterrupted nobody knows how often machines are lost, so the figures are the
// least that is possible.
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

// Spans of time that are estimates. Any span of <chrono>, Nanos too, becomes Hours by itself, so seconds and hours
// cannot be mixed up.
using Hours = std::chrono::duration<double, std::ratio<3600>>;

// The arithmetic of runs on machines that are taken away. Letters in comments: W work, tau checkpoint interval, C time
// to write a checkpoint while training stands, R time from a new machine to training again, M mean uptime between
// losses of the job. Every span is positive, M also where the formula would allow 0; C, R may be 0.

// M of a job on `nodes` machines, each lost independently. Losses that come together make the result a lower bound.
Hours JobMeanUptime(Hours node_mean_uptime, int nodes);
// The mean time down that goes with an up-fraction 0 < p <= 1: M (1 - p) / p.
Hours MeanDownTime(Hours mean_uptime, double up_fraction);

// How often a run of that length is interrupted in the mean: run / M.
double ExpectedInterruptions(Hours run, Hours mean_uptime);
// The chance of exactly `k`, and of at most `k`, interruptions where `mean` are expected (Poisson); k >= 0.
double PoissonExactly(int k, double mean);
double PoissonAtMost(int k, double mean);

// No interval is tried, or taken from a formula, that is shorter, also where a checkpoint costs nothing.
inline constexpr Hours kShortestInterval = std::chrono::minutes(1);

// Young's interval, sqrt(2 C M) (Young 1974). It holds for C much below M.
Hours YoungInterval(Hours checkpoint, Hours mean_uptime);
// Daly's interval, at which DalyTime is nearly least: sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + C / 18M) - C for C < 2M, else
// M (Daly 2006, his equation 37).
Hours DalyInterval(Hours checkpoint, Hours mean_uptime);
// The interval that is best for availability: C + sqrt(2 (M + R) C + C^2) (arXiv 2410.18124).
Hours AvailabilityOptimalInterval(Hours checkpoint, Hours restart, Hours mean_uptime);

// What the time on machines is made of, apart from how often they are lost.
struct CheckpointedWork {
  Hours work{};        // W
  Hours interval{};    // tau, of work
  Hours checkpoint{};  // C
  Hours restart{};     // R
};

// The time with nothing lost: T0 = W (1 + C/tau) + R.
Hours UninterruptedTime(const CheckpointedWork& job);
// The time to first order in the losses: T = T0 + (T0 / M)(R + tau/2). It holds while R + tau is small beside M.
Hours FirstOrderTime(const CheckpointedWork& job, Hours mean_uptime);
// Whether first order is out of its depth: (tau + R) / M is above kFirstOrderReach, where its error on public traces
// grows.
inline constexpr double kFirstOrderReach = 0.2;
// Whether first order is out of its depth for that job.
bool NeedsSimulation(const CheckpointedWork& job, Hours mean_uptime);
// The expected time where losses have no memory: M e^(R/M) (e^((tau+C)/M) - 1) W / tau (Daly 2006).
Hours DalyTime(const CheckpointedWork& job, Hours mean_uptime);
// The time where each loss that is expected during W costs l: W + (W / M) l.
Hours FixedLossTime(Hours work, Hours mean_uptime, Hours loss);
// The time where losses come during repeated work too: W / (1 - l / M). Absent where l >= M, as the work never ends.
std::optional<Hours> SelfConsistentTime(Hours work, Hours mean_uptime, Hours loss);

// 1 + C / tau_od: the time of an on-demand run that writes a checkpoint every `on_demand_interval`, over the time of
// one that writes none (absent).
double OwnCheckpoints(Hours checkpoint, std::optional<Hours> on_demand_interval);

// The overhead o of spot over on demand: 1 + o = (T / W) / (1 + C / tau_od). An on-demand run writes checkpoints too,
// so it is charged for those. `billed` is T.
double SpotOverhead(Hours billed, Hours work, Hours checkpoint, std::optional<Hours> on_demand_interval);
// Cost against on demand after a rate cut r: (1 - r)(1 + o). Below 1 it saves.
double SpotCostFactor(double rate_cut, double overhead);
// The overhead that eats up a discount 0 <= d < 1: d / (1 - d). It is of compute only; storage and egress come on top.
double BreakEvenOverhead(double discount);

}  // namespace idleburn
