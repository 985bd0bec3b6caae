#pragma once

#include <string>

#include "base/result.h"
#include "base/run_ids.h"
#include "verify/reversion.h"

namespace idleburn {

// What jobs that were selected for their value did, beside those that were left alone (`idleburn compare --jobs`).
struct ReversionReport {
  std::string name;  // name of the file
  std::string sha256;
  double level = 0.95;
  ReversionReading reading;
  std::string version;
  RunIds ids;
};

// Reads the table of --jobs and says what its selected jobs gained beyond what was to be expected. Fails if the table
// cannot tell that: it needs a selected job, and 3 untouched ones with different values.
Result<ReversionReport> ReadComparedJobs(const std::string& path, double level);
// What such a table makes one expect of the selected jobs without any effect, to be taken off a comparison of their
// runs. The values must be work per GPU-hour, above 0.
Result<ExpectedReversion> ReadExpectedReversion(const std::string& path);

}  // namespace idleburn
