#pragma once

#include <string>

#include "cli/report_run.h"
#include "report/reversion_report.h"

namespace idleburn {

// Reads the table of `compare --jobs` and says what its selected jobs did beyond what was to be expected.
Result<ReversionReport> ReadComparedJobs(const std::string& path, double level);
// What such a table makes one expect of the selected jobs with no effect, where its values are work a GPU-hour: to be
// taken off a comparison of their runs.
Result<ExpectedReversion> ReadExpectedReversion(const std::string& path);
inline constexpr std::array<ReportFormat, 4> kJobsFormats = {ReportFormat::kText, ReportFormat::kJson,
                                                             ReportFormat::kHtml, ReportFormat::kMarkdown};
std::string JobsDocument(const ReversionReport& report, ReportFormat format, int width, bool color);

}  // namespace idleburn
