#pragma once

#include <optional>

#include "plan/spot_hours.h"

namespace idleburn {

// The arithmetic of runs on machines that are taken away. Letters in comments: W work, tau checkpoint interval, C time
// to write a checkpoint while training stands, R time from a new machine to training again, M mean uptime between
// losses of the job. Every span is positive, M also where the formula would allow 0; C, R may be 0.

// M of a job on `nodes` machines, each lost independently. Losses that come together make it a bound.
Hours JobMeanUptime(Hours node_mean_uptime, int nodes);
// Mean time down that goes with an up-fraction 0 < p <= 1: M (1 - p) / p.
Hours MeanDownTime(Hours mean_uptime, double up_fraction);

double ExpectedInterruptions(Hours run, Hours mean_uptime);
// The chance of exactly, and of at most, `k` interruptions where `mean` are expected (Poisson). k >= 0.
double PoissonExactly(int k, double mean);
double PoissonAtMost(int k, double mean);

// sqrt(2 C M) (Young 1974); C much below M.
Hours YoungInterval(Hours checkpoint, Hours mean_uptime);
// sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + C / 18M) - C for C < 2M, else M (Daly 2006, his equation 37): nearly the interval
// at which DalyTime is least.
Hours DalyInterval(Hours checkpoint, Hours mean_uptime);
// C + sqrt(2 (M + R) C + C^2): the interval that is best for availability (arXiv 2410.18124).
Hours AvailabilityOptimalInterval(Hours checkpoint, Hours restart, Hours mean_uptime);

// What the time on machines is made of, apart from how often they are lost.
struct CheckpointedWork {
  Hours work{};        // W
  Hours interval{};    // tau, of work
  Hours checkpoint{};  // C
  Hours restart{};     // R
};

// T0 = W (1 + C/tau) + R: with nothing lost.
Hours UninterruptedTime(const CheckpointedWork& job);
// T = T0 + (T0 / M)(R + tau/2), valid while R + tau is small beside M.
Hours FirstOrderTime(const CheckpointedWork& job, Hours mean_uptime);
// Whether first order is out of its depth: (tau + R) / M is above kFirstOrderReach, where its error on public traces
// grows.
inline constexpr double kFirstOrderReach = 0.2;
bool NeedsSimulation(const CheckpointedWork& job, Hours mean_uptime);
// M e^(R/M) (e^((tau+C)/M) - 1) W / tau (Daly 2006): losses without memory.
Hours DalyTime(const CheckpointedWork& job, Hours mean_uptime);
// W + (W / M) l: each loss expected during W costs l.
Hours FixedLossTime(Hours work, Hours mean_uptime, Hours loss);
// W / (1 - l / M): losses during the repeated time too. Absent where l >= M: the work never ends.
std::optional<Hours> SelfConsistentTime(Hours work, Hours mean_uptime, Hours loss);

// o in 1 + o = (T / W) / (1 + C / tau_od): what spot needs beyond an on-demand run, which is credited the checkpoints
// that it writes too, every `on_demand_interval` (absent: none). `billed` is T.
double SpotOverhead(Hours billed, Hours work, Hours checkpoint, std::optional<Hours> on_demand_interval);
// (1 - r)(1 + o): cost against on-demand after a rate cut r. Below 1 it saves.
double SpotCostFactor(double rate_cut, double overhead);
// d / (1 - d): the overhead that eats up a discount 0 <= d < 1. Of compute only: storage and egress come on top.
double BreakEvenOverhead(double discount);

}  // namespace idleburn
