#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/terms.h"
#include "verify/verdict.h"

namespace idleburn {

// A profiler's capture of a job: few steps, each known exactly. One capture is one run.
struct StepCapture {
  std::string name;
  std::string sha256;                // of the input; empty if there is no file
  std::vector<double> step_seconds;  // all profiled steps in order, the first and the last included
  // Of a step, to show that the work is the same; absent: not to be had.
  std::optional<double> kernels_per_step;
  std::optional<double> compute_seconds_per_step;
  std::optional<Instant> start;  // absent: no date is known
};

struct CaptureSide {
  int captures = 0;
  int steps = 0;  // counted
  double median_seconds = 0;
  double mean_seconds = 0;
  double tau = 1;
};

struct CaptureVerdict {
  Verdict verdict = Verdict::kNotShown;
  std::vector<VerdictReason> reasons;
  CaptureSide before, after;
  double level = 0.95;
  std::optional<double> fraction;          // off the median step; absent without steps
  std::optional<SavingInterval> saving;    // at `level`
  std::optional<SavingInterval> saving90;  // at twice its error
  std::optional<double> mean_fraction;     // off the mean step: what a bill follows, over whole cycles only
  std::optional<DriftGuard> guard;
  std::uint64_t seed = 0;
  bool retrospective = false;
};

// docs/verification.md.
CaptureVerdict JudgeCaptures(std::span<const StepCapture> before, std::span<const StepCapture> after,
                             const VerdictTerms& terms, std::uint64_t seed, int resamples = 2000);

}  // namespace idleburn
