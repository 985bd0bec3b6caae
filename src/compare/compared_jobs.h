#pragma once

#include <string>

#include "base/result.h"
#include "compare/reversion_report.h"

namespace idleburn {

// Reads the table of `compare --jobs` and says what its selected jobs did beyond what was to be expected.
Result<ReversionReport> ReadComparedJobs(const std::string& path, double level);
// What such a table makes one expect of the selected jobs with no effect, where its values are work a GPU-hour: to be
// taken off a comparison of their runs.
Result<ExpectedReversion> ReadExpectedReversion(const std::string& path);

}  // namespace idleburn
