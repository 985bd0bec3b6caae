#pragma once

#include <chrono>
#include <optional>
#include <ratio>

namespace idleburn {

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
