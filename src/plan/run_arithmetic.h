#pragma once

#include <optional>

namespace idleburn {

// The arithmetic of a run, without any model of the hardware.

// Sequences of one optimizer step: micro-batch x accumulation x data-parallel ranks.
double EffectiveBatch(double micro_batch, double accumulation, double data_parallel);

// Work and rate of a run, in whole units of a person's: samples, minutes.
struct RunLength {
  double steps_per_epoch = 0;
  double minutes_per_epoch = 0;
  double hours = 0;  // of all epochs, on the wall
  double gpu_hours = 0;
  double samples_per_s = 0;
  double tokens_per_s = 0;  // of all GPUs
};
RunLength LengthOf(double samples, double epochs, double sequence, double effective_batch, double samples_per_min,
                   double gpus);

// A cap in GPU-hours: what fits in it.
struct CapFacts {
  double gpu_hours_per_epoch = 0;
  double share_per_epoch = 0;  // of the cap
  double epochs = 0;           // exactly
  double whole_epochs = 0;     // that can be finished
  double samples_per_min = 0;  // that one epoch within the cap takes, of all GPUs
};
// `overhead`: time that is not training, as a share of it.
CapFacts CapOf(double cap_gpu_hours, double samples, double samples_per_min, double gpus, double overhead);

// What a change of utilisation does to a step.
struct UtilizationChange {
  double busy_before_ms = 0;
  double busy_after_ms = 0;
  double implied_ms = 0;  // the step if the busy time stayed the same
  double implied_speedup = 0;
  double speedup = 0;  // measured
  double saved = 0;    // share of the time, and of its cost, that the measured step saves
};
UtilizationChange ChangeOf(double share_before, double ms_before, double share_after, double ms_after);

// The step that a target utilisation takes, if the busy time stays the same.
struct UtilizationTarget {
  double busy_ms = 0;
  double step_ms = 0;
  double speedup = 0;
  double saved = 0;
};
UtilizationTarget TargetOf(double share, double ms, double target_share);

// Whether a stated rate can be: both sides in FLOP/s of one GPU (docs/plan.md, "Time").
enum class Plausibility { kPlausible, kOptimistic, kImpossible };
struct RooflineCheck {
  double implied_flops = 0;
  double ceiling_flops = 0;
  Plausibility verdict = Plausibility::kPlausible;
};
RooflineCheck CheckRoofline(double tokens_per_s_per_gpu, double flops_per_token, double ceiling_flops);

}  // namespace idleburn
