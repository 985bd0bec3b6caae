#pragma once

#include <string>

#include "base/result.h"
#include "base/run_ids.h"
#include "verify/reversion.h"

namespace idleburn {

// What jobs that were selected for their value did, beside those that were left alone.
struct ReversionReport {
  std::string name;  // of the file
  std::string sha256;
  double level = 0.95;
  ReversionReading reading;
  std::string version;
  RunIds ids;
};

// Reads the table of `compare --jobs` and says what its selected jobs did beyond what was to be expected.
Result<ReversionReport> ReadComparedJobs(const std::string& path, double level);
// What such a table makes one expect of the selected jobs with no effect, where its values are work a GPU-hour: to be
// taken off a comparison of their runs.
Result<ExpectedReversion> ReadExpectedReversion(const std::string& path);

}  // namespace idleburn
