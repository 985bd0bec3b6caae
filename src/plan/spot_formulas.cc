#include "plan/spot_formulas.h"

#include <cmath>

#include "base/result.h"

namespace idleburn {

// The formulas as their sources have them; the header says which formula, from where, and for which values it holds.
// Checks are of arguments only: a caller with a value that a formula does not allow has made a mistake, so there is no
// error to report.

Hours JobMeanUptime(Hours node_mean_uptime, int nodes) {
  CHECK(nodes > 0);
  return node_mean_uptime / nodes;
}

Hours MeanDownTime(Hours mean_uptime, double up_fraction) {
  CHECK(up_fraction > 0 && up_fraction <= 1);
  return mean_uptime * ((1 - up_fraction) / up_fraction);
}

double ExpectedInterruptions(Hours run, Hours mean_uptime) { return run / mean_uptime; }

double PoissonExactly(int k, double mean) {
  if (mean == 0) return k == 0 ? 1 : 0;
  return std::exp(k * std::log(mean) - mean - std::lgamma(k + 1.0));
}

double PoissonAtMost(int k, double mean) {
  double sum = 0;
  for (int i = 0; i <= k; ++i) sum += PoissonExactly(i, mean);
  return sum;
}

Hours YoungInterval(Hours checkpoint, Hours mean_uptime) {
  return Hours(std::sqrt(2 * checkpoint.count() * mean_uptime.count()));
}

Hours DalyInterval(Hours checkpoint, Hours mean_uptime) {
  const double x = checkpoint / (2 * mean_uptime);
  if (x >= 1) return mean_uptime;
  return YoungInterval(checkpoint, mean_uptime) * (1 + std::sqrt(x) / 3 + x / 9) - checkpoint;
}

Hours AvailabilityOptimalInterval(Hours checkpoint, Hours restart, Hours mean_uptime) {
  const double c = checkpoint.count();
  return checkpoint + Hours(std::sqrt(2 * (mean_uptime + restart).count() * c + c * c));
}

Hours UninterruptedTime(const CheckpointedWork& job) {
  return job.work * (1 + job.checkpoint / job.interval) + job.restart;
}

Hours FirstOrderTime(const CheckpointedWork& job, Hours mean_uptime) {
  return FixedLossTime(UninterruptedTime(job), mean_uptime, job.restart + job.interval / 2);
}

bool NeedsSimulation(const CheckpointedWork& job, Hours mean_uptime) {
  return (job.interval + job.restart) / mean_uptime > kFirstOrderReach;
}

Hours DalyTime(const CheckpointedWork& job, Hours mean_uptime) {
  const double restarts = std::exp(job.restart / mean_uptime);
  const double segment = std::expm1((job.interval + job.checkpoint) / mean_uptime);
  return mean_uptime * (restarts * segment * (job.work / job.interval));
}

Hours FixedLossTime(Hours work, Hours mean_uptime, Hours loss) {
  return work + loss * ExpectedInterruptions(work, mean_uptime);
}

std::optional<Hours> SelfConsistentTime(Hours work, Hours mean_uptime, Hours loss) {
  if (loss >= mean_uptime) return std::nullopt;
  return work / (1 - loss / mean_uptime);
}

double OwnCheckpoints(Hours checkpoint, std::optional<Hours> on_demand_interval) {
  return on_demand_interval ? 1 + checkpoint / *on_demand_interval : 1;
}

double SpotOverhead(Hours billed, Hours work, Hours checkpoint, std::optional<Hours> on_demand_interval) {
  return billed / work / OwnCheckpoints(checkpoint, on_demand_interval) - 1;
}

double SpotCostFactor(double rate_cut, double overhead) { return (1 - rate_cut) * (1 + overhead); }

double BreakEvenOverhead(double discount) {
  CHECK(discount >= 0 && discount < 1);
  return discount / (1 - discount);
}

}  // namespace idleburn
