#pragma once

#include <array>
#include <string>

#include "compare/compared_input.h"
#include "compare/comparison_report.h"
#include "report/format_writers.h"
#include "report/report_page.h"

namespace idleburn {

// The writers of `idleburn compare`, one per format. They repeat the figures of the report and compute no verdict:
// only verify/judge.h decides.

// The document of docs/json.md, schema idleburn.compare/1. Fractions are of GPU time before, so 0.28 is a saving of 28
// %.
std::string ComparisonJson(const ComparisonReport& report);
// Verdict, why, next, then the figures and the runs.
ReportPage ComparisonPage(const ComparisonReport& report);
// A header and one row, so that the rows of many comparisons can be joined into one table.
std::string ComparisonCsv(const ComparisonReport& report);

// The writers of `idleburn compare --jobs`, which asks how much of a gain jobs make by themselves because they were
// picked for being bad (docs/claim-and-compare.md).

// The document of docs/json.md, schema idleburn.reversion/1.
std::string ReversionJson(const ReversionReport& report);
ReportPage ReversionPage(const ReversionReport& report);

inline constexpr auto kComparisonWriters = std::to_array<FormatWriter<ComparisonReport>>({
    {ReportFormat::kText, AsText<ComparisonPage>},
    {ReportFormat::kJson, OnAnyPaper<ComparisonJson>},
    {ReportFormat::kHtml, AsHtml<ComparisonPage>},
    {ReportFormat::kCsv, OnAnyPaper<ComparisonCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<ComparisonPage>},
});
// CSV is not among them: a reversion has no row that could be joined with others.
inline constexpr auto kReversionWriters = std::to_array<FormatWriter<ReversionReport>>({
    {ReportFormat::kText, AsText<ReversionPage>},
    {ReportFormat::kJson, OnAnyPaper<ReversionJson>},
    {ReportFormat::kHtml, AsHtml<ReversionPage>},
    {ReportFormat::kMarkdown, AsMarkdown<ReversionPage>},
});

}  // namespace idleburn
