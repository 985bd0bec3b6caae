#pragma once

#include <string>
#include <vector>

#include "bill/bill_report.h"
#include "bill/bill_sql.h"
#include "bill/bill_store.h"
#include "bill/bill_validate.h"
#include "report/format_writers.h"
#include "report/report_page.h"

namespace idleburn {

// The parts of `use`, then the amortization, in the minor unit, so that their column sums to the total.
std::vector<Money> RoundedParts(const BillReport& report);

// The writers of `idleburn bill reconcile`.
ReportPage BillPage(const BillReport& report);
// The document of docs/json/bill.md, schema idleburn.bill/1.
std::string BillJson(const BillReport& report);
// One row for each mismatch.
std::string BillCsv(const BillReport& report);

inline constexpr auto kBillWriters = std::to_array<FormatWriter<BillReport>>({
    {ReportFormat::kText, AsText<BillPage, BillReport>},
    {ReportFormat::kJson, OnAnyPaper<BillJson>},
    {ReportFormat::kHtml, AsHtml<BillPage, BillReport>},
    {ReportFormat::kCsv, OnAnyPaper<BillCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<BillPage, BillReport>},
});

// The writers of `idleburn bill validate`.
ReportPage ValidationPage(const BillValidation& validation);
std::string ValidationJson(const BillValidation& validation);
std::string ValidationCsv(const BillValidation& validation);

inline constexpr auto kValidationWriters = std::to_array<FormatWriter<BillValidation>>({
    {ReportFormat::kText, AsText<ValidationPage, BillValidation>},
    {ReportFormat::kJson, OnAnyPaper<ValidationJson>},
    {ReportFormat::kHtml, AsHtml<ValidationPage, BillValidation>},
    {ReportFormat::kCsv, OnAnyPaper<ValidationCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<ValidationPage, BillValidation>},
});

// The rows of `idleburn bill sql`.
std::string SqlTable(const SqlAnswer& answer, const Paper& paper);
std::string SqlJson(const SqlAnswer& answer);
std::string SqlCsv(const SqlAnswer& answer);

inline constexpr auto kSqlWriters = std::to_array<FormatWriter<SqlAnswer>>({
    {ReportFormat::kText, SqlTable},
    {ReportFormat::kJson, OnAnyPaper<SqlJson>},
    {ReportFormat::kCsv, OnAnyPaper<SqlCsv>},
});

// What `idleburn bill import` says of one file, line by line.
std::vector<std::string> ImportLines(const BillImport& import);

}  // namespace idleburn
