#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "verify/verdict.h"

namespace idleburn {

// A job in two periods, by the value that jobs are chosen by (utilisation, ln R): docs/verification.md.
struct JobPair {
  double first = 0;
  double second = 0;
  bool chosen = false;  // for its first value; the others were left untouched
};

// What jobs that were chosen for being bad do without any change, told from what untouched jobs did.
struct ReversionReading {
  int chosen = 0;
  int untouched = 0;
  double raw_change = 0;  // mean of the chosen, second less first
  double slope = 0;       // of second on first over the untouched jobs
  double slope_error = 0;
  double expected_change = 0;  // of the chosen, with no effect
  double expected_error = 0;
  double net_change = 0;  // raw less expected
  double net_error = 0;
  double df = 0;
  double low = 0, high = 0;  // of the net change, at the level asked for
  // INDICATED, INDICATED_REGRESSION or NOT_SHOWN, where a larger value is better: jobs picked by their value are no
  // design that could verify.
  Verdict verdict = Verdict::kNotShown;
};

// Absent with no chosen job, fewer than 3 untouched ones, or untouched ones that are all the same at first.
std::optional<ReversionReading> ReadReversion(std::span<const JobPair> jobs, double level);

// What the chosen jobs would have changed without any change, where the values are ln of GPU-seconds per unit of work:
// to be taken from their comparison.
struct ExpectedReversion {
  double log_ratio = 0;  // of R after to R before
  double error = 0;
  double df = 1;
};
ExpectedReversion AsExpected(const ReversionReading& logs);

// Jobs in two periods as CSV, a row each:
//   job            its name, each once
//   before, after  the value that jobs were selected by, where a larger one is better (utilisation, units a GPU-hour)
//   selected       yes or no: whether it was among those that were to be improved; the others were left alone
// Other columns are passed over. Fails, naming line and column, on what is none of these.
Result<std::vector<JobPair>> ReadJobsCsv(ByteSource& in);

}  // namespace idleburn
