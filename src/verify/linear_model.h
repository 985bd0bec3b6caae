#pragma once

#include <span>
#include <string>
#include <vector>

#include "verify/effect.h"
#include "verify/verdict.h"

namespace idleburn {

// One run, epoch or window of equal length, as a line takes it.
struct WorkSegment {
  double work = 0;
  double gpu_seconds = 0;
};

// GPU-seconds as fixed + per_unit * work, fitted to a baseline (docs/verification.md), and what the change avoided
// by it.
struct LinearReading {
  LinearBaseline line;
  bool fit_for_verdicts = false;  // CV(RMSE) at most 0.25
  SavingEffect effect;            // avoided / what the line expects of the work after, on the plain scale
};

// What keeps a baseline from being described by a line; empty if nothing does. 12 segments, largest work at least 1.5 x
// the smallest, and at least 4 segments after.
std::string FaultOfLinearBaseline(std::span<const WorkSegment> before, std::span<const WorkSegment> after);

// Of segments in order of time in which no such fault is found.
LinearReading ReadLinear(std::span<const WorkSegment> before, std::span<const WorkSegment> after);

double ExpectedOf(const LinearBaseline& line, double work);

}  // namespace idleburn
