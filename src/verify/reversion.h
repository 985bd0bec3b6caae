#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "verify/verdict.h"

namespace idleburn {

// Regression to the mean: jobs that were picked for being bad improve by themselves. This measures by how much, from
// jobs that were left untouched. Without such jobs nothing can be said, and a guess would be as large as many savings.

// A job in two periods, by the value that jobs are chosen by: utilization, or ln R.
struct JobPair {
  double first = 0;
  double second = 0;
  bool chosen = false;  // because of its first value; other jobs were left untouched
};

// How much jobs that were chosen for being bad gained beyond what they would have gained by themselves. Untouched
// jobs show the latter: a line of their second value over the first predicts every job without an effect
// (docs/verification.md, "Regression to the mean"). Values are in the unit of the input.
struct ReversionReading {
  int chosen = 0;
  int untouched = 0;
  double raw_change = 0;  // mean of the chosen jobs, second less first
  double slope = 0;       // of second on first, over the untouched jobs
  double slope_error = 0;
  double expected_change = 0;  // of the chosen jobs, without any effect
  double expected_error = 0;
  double net_change = 0;  // raw less expected
  double net_error = 0;
  double df = 0;
  double low = 0, high = 0;  // of the net change, at the level asked for
  // INDICATED, INDICATED_REGRESSION or NOT_SHOWN, where a larger value is better. Jobs picked by their own value are
  // no design that could verify anything.
  Verdict verdict = Verdict::kNotShown;
};

// Absent without a chosen job, with fewer than 3 untouched ones, or if those all begin with the same value.
std::optional<ReversionReading> ReadReversion(std::span<const JobPair> jobs, double level);

// What chosen jobs would have changed without any effect, for values that are ln of GPU-seconds per unit of work. The
// judge takes it off their comparison.
struct ExpectedReversion {
  double log_ratio = 0;  // ln of R after over R before
  double error = 0;
  double df = 1;
};
ExpectedReversion AsExpected(const ReversionReading& logs);

// Reads jobs in two periods from CSV, one row per job:
//   job            its name, unique
//   before, after  the value that jobs were selected by; a larger one is better (utilization, units per GPU-hour)
//   selected       yes or no: whether the job was to be improved
// Example: "bert-3,31.5,47.0,yes". Other columns are ignored. Fails, naming line and column, on any other value.
Result<std::vector<JobPair>> ReadJobsCsv(ByteSource& in);

}  // namespace idleburn
