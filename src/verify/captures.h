#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/terms.h"
#include "verify/verdict.h"

namespace idleburn {

// A profiler's capture of a job: few steps, each known to the nanosecond. One capture counts as one run, however many
// steps it holds, because steps of one capture share whatever differs from run to run.
struct StepCapture {
  std::string name;
  std::string sha256;                // of the input; empty if it was no file
  std::vector<double> step_seconds;  // all profiled steps in order, including the first and the last
  // Work per step, which must be the same on both sides. Absent if the capture does not tell it.
  std::optional<double> kernels_per_step;
  std::optional<double> compute_seconds_per_step;
  std::optional<Instant> start;  // absent: no date is known
};

// One side: its captures without their first and last steps. Times are in seconds, tau in steps.
struct CaptureSide {
  int captures = 0;
  int steps = 0;  // without the first and last of each capture
  double median_seconds = 0;
  double mean_seconds = 0;
  double tau = 1;
};

// The verdict on captures. It is about the step time and never about cash: a profiled step is no sample of a bill.
struct CaptureVerdict {
  Verdict verdict = Verdict::kNotShown;
  std::vector<VerdictReason> reasons;
  CaptureSide before, after;
  double level = 0.95;
  std::optional<double> fraction;          // off the median step; absent without steps
  std::optional<SavingInterval> saving;    // at `level`
  std::optional<SavingInterval> saving90;  // at twice the error of `level`: .90 for .95
  std::optional<double> mean_fraction;     // off the mean step, which a bill follows over whole cycles
  std::optional<DriftGuard> guard;
  std::uint64_t seed = 0;
  bool retrospective = false;
};

// Judges captures by the median of their steps (docs/verification.md, "Profiler captures"). The median is used
// because a checkpoint or an evaluation inside a short capture would dominate its mean. `seed` and `resamples` are of
// the bootstrap: the same input gives the same verdict.
CaptureVerdict JudgeCaptures(std::span<const StepCapture> before, std::span<const StepCapture> after,
                             const VerdictTerms& terms, std::uint64_t seed, int resamples = 2000);

}  // namespace idleburn
