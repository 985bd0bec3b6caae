#include "plan/spot_run.h"

#include <algorithm>
#include <cmath>

namespace idleburn {
namespace {

constexpr double kRounding = 1e-9;  // of an interval: what sums of spans are off by decides nothing

}  // namespace

std::optional<Hours> UseMachine(const CheckpointedWork& job, Hours unbilled, Hours available, JobProgress& progress) {
  const Hours left = job.work - progress.kept;
  const double writes = std::max(0.0, std::ceil(left / job.interval - kRounding) - 1);
  const Hours needed = job.restart + left + job.checkpoint * writes;
  const Hours used = std::min(needed, available);
  progress.billed += std::max(Hours{}, used - unbilled);
  if (needed <= available + job.interval * kRounding) {
    progress.kept = job.work;
    return needed;
  }
  const double completed = std::floor((available - job.restart) / (job.interval + job.checkpoint) + kRounding);
  progress.kept += job.interval * std::clamp(completed, 0.0, writes);
  ++progress.interruptions;
  return std::nullopt;
}

}  // namespace idleburn
