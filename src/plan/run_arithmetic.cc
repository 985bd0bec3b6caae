#include "plan/run_arithmetic.h"

#include <cmath>

namespace idleburn {
namespace {

constexpr double kMinutes = 60;
constexpr double kOptimistic = 0.6;  // of the ceiling

}  // namespace

double EffectiveBatch(double micro_batch, double accumulation, double data_parallel) {
  return micro_batch * accumulation * data_parallel;
}

RunLength LengthOf(double samples, double epochs, double sequence, double effective_batch, double samples_per_min,
                   double gpus) {
  RunLength length;
  length.steps_per_epoch = samples / effective_batch;
  length.minutes_per_epoch = samples / samples_per_min;
  length.hours = samples * epochs / (samples_per_min * kMinutes);
  length.gpu_hours = length.hours * gpus;
  length.samples_per_s = samples_per_min / kMinutes;
  length.tokens_per_s = samples_per_min * sequence / kMinutes;
  return length;
}

CapFacts CapOf(double cap_gpu_hours, double samples, double samples_per_min, double gpus, double overhead) {
  CapFacts cap;
  cap.gpu_hours_per_epoch = samples / (samples_per_min * kMinutes) * gpus;
  cap.share_per_epoch = cap.gpu_hours_per_epoch / cap_gpu_hours;
  cap.epochs = cap_gpu_hours / (cap.gpu_hours_per_epoch * (1 + overhead));
  cap.whole_epochs = std::floor(cap.epochs * (1 + 1e-12));  // 2.9999999999 is a rounding of 3
  cap.samples_per_min = samples * (1 + overhead) / (cap_gpu_hours / gpus * kMinutes);
  return cap;
}

UtilizationChange ChangeOf(double share_before, double ms_before, double share_after, double ms_after) {
  UtilizationChange change;
  change.busy_before_ms = share_before * ms_before;
  change.busy_after_ms = share_after * ms_after;
  change.implied_ms = ms_before * share_before / share_after;
  change.implied_speedup = share_after / share_before;
  change.speedup = ms_before / ms_after;
  change.saved = 1 - ms_after / ms_before;
  return change;
}

UtilizationTarget TargetOf(double share, double ms, double target_share) {
  return {share * ms, share * ms / target_share, target_share / share, 1 - share / target_share};
}

RooflineCheck CheckRoofline(double tokens_per_s_per_gpu, double flops_per_token, double ceiling_flops) {
  RooflineCheck check = {tokens_per_s_per_gpu * flops_per_token, ceiling_flops, Plausibility::kPlausible};
  if (check.implied_flops > ceiling_flops) {
    check.verdict = Plausibility::kImpossible;
  } else if (check.implied_flops > kOptimistic * ceiling_flops) {
    check.verdict = Plausibility::kOptimistic;
  }
  return check;
}

}  // namespace idleburn
