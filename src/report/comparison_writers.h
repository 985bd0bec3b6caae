#pragma once

#include <array>
#include <string>

#include "compare/compared_jobs.h"
#include "compare/comparison_report.h"
#include "config/output_format.h"
#include "report/report_page.h"

namespace idleburn {

// The JSON document of docs/json.md, schema idleburn.compare/1.
std::string ComparisonJson(const ComparisonReport& report);
// For a terminal: verdict, why, next; then the figures in the order of docs/verification.md.
std::string ComparisonText(const ComparisonReport& report, int width, bool color);
std::string ComparisonMarkdown(const ComparisonReport& report);
std::string ComparisonHtml(const ComparisonReport& report);
// One row, for a table of comparisons.
std::string ComparisonCsv(const ComparisonReport& report);

// The JSON document of docs/json.md, schema idleburn.reversion/1.
std::string ReversionJson(const ReversionReport& report);
ReportPage ReversionPage(const ReversionReport& report);

inline constexpr std::array<ReportFormat, 4> kJobsFormats = {ReportFormat::kText, ReportFormat::kJson,
                                                             ReportFormat::kHtml, ReportFormat::kMarkdown};
std::string JobsDocument(const ReversionReport& report, ReportFormat format, int width, bool color);

}  // namespace idleburn
