#include "plan/spot_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// Offers are weighed one by one and compared at the end. Expected billed hours of spot come from a formula where it
// holds, because they are what is paid in the mean. The clock of spot and its 95th percentile always come from
// simulation, because no formula gives a tail.

namespace {

// Refuses spans that cannot be. The message goes to the user as it is.
Result<void> CheckLaunch(const LaunchFacts& launch) {
  const auto bad = [](const Hours& h) { return !std::isfinite(h.count()) || h < Hours{}; };
  if (bad(launch.checkpoint)) return FailUsage("the time to write a checkpoint must be 0 or more");
  if (bad(launch.restart)) return FailUsage("the time to restart must be 0 or more");
  if (bad(launch.unbilled) || launch.unbilled > launch.restart) {
    return FailUsage("the unbilled part of a restart must lie between 0 and the restart");
  }
  for (const auto& span : {launch.interval, launch.on_demand_interval}) {
    if (span && (bad(*span) || *span == Hours{})) return FailUsage("a checkpoint interval must be above 0");
  }
  if (launch.loss && bad(*launch.loss)) return FailUsage("the loss of an interruption must be 0 or more");
  return {};
}

// Refuses an offer that makes no sense and names it.
Result<void> CheckOffer(const RunOffer& offer) {
  const auto bad = [&](std::string_view why) {
    return FailUsage(fmt::format("{} x {}{}: {}", offer.gpus, offer.gpu, offer.spot ? " spot" : "", why));
  };
  if (offer.gpus <= 0 || offer.nodes <= 0) return bad("the numbers of GPUs and of machines must be above 0");
  if (offer.per_gpu_hour <= Money()) return bad("its price per GPU-hour must be above 0");
  const WorkHours& work = offer.work;
  if (!(work.low > Hours{} && work.low <= work.likely && work.likely <= work.high) ||
      !std::isfinite(work.high.count())) {
    return bad("its hours of work must be above 0, in the order low, likely, high");
  }
  if (offer.machines && !(offer.machines->mean_up > Hours{} && offer.machines->mean_down >= Hours{})) {
    return bad("the mean uptime of its machines must be above 0");
  }
  return {};
}

// All three figures times the factor.
WorkHours Times(const WorkHours& work, double factor) {
  return {work.low * factor, work.likely * factor, work.high * factor};
}

// Sets hours of machines and GPUs and the cost that follows from them.
Result<void> SetHours(const RunOffer& offer, const WorkHours& billed, RunOption& option) {
  option.billed_hours = billed;
  option.gpu_hours = Times(billed, offer.gpus);
  const Result<Money> low = CostOf(offer.per_gpu_hour, option.gpu_hours->low.count());
  const Result<Money> likely = CostOf(offer.per_gpu_hour, option.gpu_hours->likely.count());
  const Result<Money> high = CostOf(offer.per_gpu_hour, option.gpu_hours->high.count());
  if (!low || !likely || !high) return FailUsage(offer.gpu + ": its cost is too large to compute");
  option.cost = CostRange{*low, *likely, *high};
  return {};
}

// Without interruptions the hours are the work and the checkpoints that it writes.
Result<void> WeighOnDemand(const RunOffer& offer, const LaunchFacts& launch, const OptionCaps& caps,
                           RunOption& option) {
  const WorkHours wall = Times(offer.work, OwnCheckpoints(launch.checkpoint, launch.on_demand_interval));
  option.interval = launch.on_demand_interval;
  option.interruptions = 0;
  option.wall_p50 = wall.likely;
  option.wall_p95 = wall.high;
  // Without losses the work alone is uncertain; a deadline inside its interval has no known chance.
  if (caps.deadline && wall.high <= *caps.deadline) option.deadline_met = 1;
  return SetHours(offer, wall, option);
}

// T on the machine's clock. The billed part leaves out what is unbilled of each start.
std::optional<Hours> ExpectedTime(const CheckpointedWork& job, const LaunchFacts& launch, Hours mean_uptime) {
  if (launch.loss) return SelfConsistentTime(UninterruptedTime(job), mean_uptime, *launch.loss);
  return FirstOrderTime(job, mean_uptime);
}

// A job whose interruptions cost in the mean what was measured: half an interval of work, and the restart. Its
// checkpoints take the same share of the time as before.
CheckpointedWork LosingWhatWasMeasured(CheckpointedWork job, Hours loss) {
  const Hours reported = job.interval;
  job.restart = std::min(job.restart, loss);
  job.interval = std::max(2 * (loss - job.restart), kShortestInterval);
  job.checkpoint *= job.interval / reported;
  return job;
}

// What spot needs beyond on demand, and from which overhead on it no longer pays. Nothing is saved where on demand
// costs no more.
void SetSaving(const RunOffer& offer, const LaunchFacts& launch, RunOption& option) {
  if (option.billed_hours) {
    option.overhead =
        SpotOverhead(option.billed_hours->likely, offer.work.likely, launch.checkpoint, launch.on_demand_interval);
  }
  if (!offer.on_demand_per_gpu_hour || *offer.on_demand_per_gpu_hour <= offer.per_gpu_hour) return;
  const double discount =
      1 - static_cast<double>(offer.per_gpu_hour.nano()) / static_cast<double>(offer.on_demand_per_gpu_hour->nano());
  option.break_even = BreakEvenOverhead(discount);
  if (option.overhead) option.saving = 1 - SpotCostFactor(discount, *option.overhead);
}

// Works out a spot offer. The ends of the interval are those of the simulation, widened where the formula lies outside
// them.
Result<void> WeighSpot(const RunOffer& offer, const LaunchFacts& launch, const SimulationSpec& simulation,
                       RunOption& option) {
  if (!offer.machines) {
    option.basis = BilledBasis::kNeverInterrupted;
    option.interval = launch.interval;
    return SetHours(offer, offer.work, option);
  }
  const UpAndDown machines = OfJob(*offer.machines, offer.nodes);
  const Hours mean_uptime = machines.mean_up;
  CheckpointedWork job{offer.work.likely, {}, launch.checkpoint, launch.restart};
  // A checkpoint that costs nothing would be written all the time by the formula.
  const Hours young = std::max(YoungInterval(job.checkpoint, mean_uptime), kShortestInterval);
  job.interval = launch.interval.value_or(std::min(young, job.work));
  // Where a loss is measured and the cost of a checkpoint is not, nothing says how often to write one.
  const bool known = launch.interval || !launch.loss || job.checkpoint > Hours{};
  if (known) option.interval = job.interval;
  const CheckpointedWork simulated_job = launch.loss ? LosingWhatWasMeasured(job, *launch.loss) : job;
  const SpotOutlook outlook = SimulateSpot(offer.work, simulated_job, launch.unbilled, machines, simulation);
  option.wall_p50 = outlook.wall_p50;
  option.wall_p95 = outlook.wall_p95;
  option.deadline_met = outlook.deadline_met;
  // A loss that was measured is better than any model of losses.
  const bool simulated = !launch.loss && NeedsSimulation(job, mean_uptime);
  option.basis = launch.loss ? BilledBasis::kMeasuredLoss
                 : simulated ? BilledBasis::kSimulation
                             : BilledBasis::kFirstOrder;
  std::optional<Hours> billed = outlook.billed_mean;
  option.interruptions = outlook.interruptions_mean;
  if (!simulated) {
    const std::optional<Hours> time = ExpectedTime(job, launch, mean_uptime);
    if (time) option.interruptions = ExpectedInterruptions(*time, mean_uptime);
    // Each start has a part that is not billed: the first one and one after every loss.
    if (time) billed = *time - launch.unbilled * (1 + *option.interruptions);
  }
  if (!billed || !outlook.billed_p05 || !outlook.billed_p95) return {};
  return SetHours(offer, {std::min(*billed, *outlook.billed_p05), *billed, std::max(*billed, *outlook.billed_p95)},
                  option);
}

// How a figure stands to its cap by its likely value and its high end.
template <typename T>
CapFit Fit(const std::optional<T>& cap, const std::optional<T>& likely, const std::optional<T>& high) {
  if (!cap) return CapFit::kNoCap;
  if (!likely) return CapFit::kUnknown;
  if (*likely > *cap) return CapFit::kMisses;
  return high && *high <= *cap ? CapFit::kMeets : CapFit::kTight;
}

// Holds an option against all caps. Where its figures are only the least that is possible, a cap that they keep is not
// known to be kept.
void SetFits(const OptionCaps& caps, RunOption& option) {
  // The likely value of the clock is its median, and its high end the 95th percentile.
  option.deadline = Fit(caps.deadline, option.wall_p50, option.wall_p95);
  if (!option.cost) {
    if (caps.budget) option.budget = CapFit::kUnknown;
    if (caps.gpu_hours) option.gpu_hours_cap = CapFit::kUnknown;
    return;
  }
  option.gpu_hours_cap =
      Fit(caps.gpu_hours, std::optional<Hours>(option.gpu_hours->likely), std::optional<Hours>(option.gpu_hours->high));
  option.budget = Fit(caps.budget, std::optional<Money>(option.cost->likely), std::optional<Money>(option.cost->high));
  const bool least = option.basis == BilledBasis::kNeverInterrupted;
  for (CapFit* fit : {&option.budget, &option.gpu_hours_cap}) {
    if (least && *fit != CapFit::kNoCap && *fit != CapFit::kMisses) *fit = CapFit::kUnknown;
  }
}

// Whether cost and wall-clock of the option are known.
bool HasCostAndTime(const RunOption& option) { return option.cost && option.wall_p95; }

// Whether `a` is at least as good in cost and time, and better in one of them.
bool Dominates(const RunOption& a, const RunOption& b) {
  const Money cost_a = a.cost->likely;
  const Money cost_b = b.cost->likely;
  return cost_a <= cost_b && *a.wall_p95 <= *b.wall_p95 && (cost_a < cost_b || *a.wall_p95 < *b.wall_p95);
}

// Marks the options that no other one dominates.
void MarkPareto(std::vector<RunOption>& options) {
  for (RunOption& one : options) {
    one.pareto = HasCostAndTime(one) && std::none_of(options.begin(), options.end(), [&](const RunOption& other) {
                   return HasCostAndTime(other) && Dominates(other, one);
                 });
  }
}

// Whether a cap is kept for sure, or likely where that is enough.
bool Keeps(CapFit fit, bool tight_too) {
  return fit == CapFit::kNoCap || fit == CapFit::kMeets || (tight_too && fit == CapFit::kTight);
}

// The cheapest option that keeps every cap.
std::optional<std::size_t> Cheapest(std::span<const RunOption> options, bool tight_too) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const RunOption& one = options[i];
    const auto keeps = [&](CapFit fit) { return Keeps(fit, tight_too); };
    if (!HasCostAndTime(one) || !keeps(one.deadline) || !keeps(one.budget) || !keeps(one.gpu_hours_cap)) continue;
    if (!best || one.cost->likely < options[*best].cost->likely) best = i;
  }
  return best;
}

// How far the option is beyond the cap that it breaks most, as a share of that cap.
double Overshoot(const RunOption& option, const OptionCaps& caps) {
  double most = 0;
  if (caps.deadline) most = std::max(most, *option.wall_p95 / *caps.deadline - 1);
  if (caps.budget) {
    // By the high end: a choice that is near to its cap should stay near in a bad case.
    most = std::max(most, static_cast<double>(option.cost->high.nano()) / static_cast<double>(caps.budget->nano()) - 1);
  }
  if (caps.gpu_hours) most = std::max(most, option.gpu_hours->high / *caps.gpu_hours - 1);
  return most;
}

}  // namespace

std::string_view Name(BilledBasis basis) {
  switch (basis) {
    case BilledBasis::kOnDemand:
      return "on_demand";
    case BilledBasis::kFirstOrder:
      return "first_order";
    case BilledBasis::kSimulation:
      return "simulation";
    case BilledBasis::kMeasuredLoss:
      return "measured_loss";
    case BilledBasis::kNeverInterrupted:
      return "never_interrupted";
  }
  return "";
}

std::string_view Name(CapFit fit) {
  switch (fit) {
    case CapFit::kNoCap:
      return "no_cap";
    case CapFit::kMeets:
      return "meets";
    case CapFit::kTight:
      return "tight";
    case CapFit::kMisses:
      return "misses";
    case CapFit::kUnknown:
      return "unknown";
  }
  return "";
}

Result<std::vector<RunOption>> WeighOffers(std::span<const RunOffer> offers, const LaunchFacts& launch,
                                           const OptionCaps& caps, const SimulationSpec& simulation) {
  TRY(CheckLaunch(launch));
  if (caps.budget && *caps.budget <= Money()) return FailUsage("a budget must be above 0");
  if (caps.deadline && *caps.deadline <= Hours{}) return FailUsage("a deadline must be above 0");
  if (caps.gpu_hours && *caps.gpu_hours <= Hours{}) return FailUsage("a cap in GPU-hours must be above 0");
  SimulationSpec spec = simulation;
  spec.deadline = caps.deadline;
  std::vector<RunOption> options;
  for (const RunOffer& offer : offers) {
    TRY(CheckOffer(offer));
    RunOption option;
    option.offer = options.size();
    TRY(offer.spot ? WeighSpot(offer, launch, spec, option) : WeighOnDemand(offer, launch, caps, option));
    if (offer.spot) SetSaving(offer, launch, option);
    SetFits(caps, option);
    options.push_back(option);
  }
  MarkPareto(options);
  return options;
}

OptionChoice ChooseOption(std::span<const RunOption> options, const OptionCaps& caps) {
  OptionChoice choice;
  choice.best = Cheapest(options, false);
  if (choice.best) return choice;
  choice.best = Cheapest(options, true);
  choice.tight = choice.best.has_value();
  if (choice.best) return choice;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (!HasCostAndTime(options[i])) continue;
    const double overshoot = Overshoot(options[i], caps);
    // The first of equal ones stays.
    if (choice.nearest && overshoot >= choice.overshoot) continue;
    choice.nearest = i;
    choice.overshoot = overshoot;
  }
  return choice;
}

double MaxGpuHours(Money cap, Money per_gpu_hour) {
  CHECK(per_gpu_hour > Money());
  return static_cast<double>(cap.nano()) / static_cast<double>(per_gpu_hour.nano());
}

Result<Money> CostOf(Money per_gpu_hour, double gpu_hours) {
  constexpr double kMostHours = 1e15;  // keeps the product within 128 bits
  if (!(gpu_hours >= 0 && gpu_hours <= kMostHours)) return Fail("its GPU-hours are too many to price");
  return Scale(per_gpu_hour, static_cast<Int128>(std::nearbyint(gpu_hours * kNanosPerHour)), kNanosPerHour);
}

}  // namespace idleburn
