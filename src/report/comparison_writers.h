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
// For a terminal of `width` columns: verdict, why, next, then the figures and the runs.
std::string ComparisonText(const ComparisonReport& report, int width, bool color);
// The same page for a comment on a change, and as one self-contained HTML file.
// One screen, or all of it.
std::string ComparisonOnPaper(const ComparisonReport& report, const Paper& paper);
std::string ComparisonMarkdown(const ComparisonReport& report);
std::string ComparisonHtml(const ComparisonReport& report);
// A header and one row, so that the rows of many comparisons can be joined into one table.
std::string ComparisonCsv(const ComparisonReport& report);

// The writers of `idleburn compare --jobs`, which asks how much of a gain jobs make by themselves because they were
// picked for being bad (docs/claim-and-compare.md).

// The document of docs/json.md, schema idleburn.reversion/1.
std::string ReversionJson(const ReversionReport& report);
ReportPage ReversionPage(const ReversionReport& report);

inline constexpr auto kComparisonWriters = std::to_array<FormatWriter<ComparisonReport>>({
    {ReportFormat::kText, [](const ComparisonReport& a, const Paper& paper) { return ComparisonOnPaper(a, paper); }},
    {ReportFormat::kJson, OnAnyPaper<ComparisonJson>},
    {ReportFormat::kHtml, OnAnyPaper<ComparisonHtml>},
    {ReportFormat::kCsv, OnAnyPaper<ComparisonCsv>},
    {ReportFormat::kMarkdown, OnAnyPaper<ComparisonMarkdown>},
});
// CSV is not among them: a reversion has no row that could be joined with others.
inline constexpr auto kReversionWriters = std::to_array<FormatWriter<ReversionReport>>({
    {ReportFormat::kText,
     [](const ReversionReport& a, const Paper& paper) { return PageOnPaper(ReversionPage(a), paper); }},
    {ReportFormat::kJson, OnAnyPaper<ReversionJson>},
    {ReportFormat::kHtml, [](const ReversionReport& a, const Paper&) { return PageHtml(ReversionPage(a)); }},
    {ReportFormat::kMarkdown, [](const ReversionReport& a, const Paper&) { return PageMarkdown(ReversionPage(a)); }},
});

}  // namespace idleburn
