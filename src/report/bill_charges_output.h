#pragma once

#include <string>

#include "bill/bill_chargeback.h"
#include "bill/bill_close.h"
#include "report/fleet_charges.h"
#include "report/format_writers.h"
#include "report/report_page.h"

// The writers of `idleburn bill chargeback`: the summary, and the statement of one owner.
namespace idleburn {

// One owner of an answer. Both must outlive it.
struct OwnerStatement {
  const BillChargeback& all;
  const BillStatement& owner;
};

ReportPage ChargebackPage(const BillChargeback& all);
// The document of docs/json/bill-chargeback.md, schema idleburn.bill_chargeback/1.
std::string ChargebackJson(const BillChargeback& all);
// One row for each owner, line that nobody pays and correction, and the total. Amounts are exact.
std::string ChargebackCsv(const BillChargeback& all);

ReportPage BillStatementPage(const OwnerStatement& statement);
// The document of docs/json/bill-chargeback.md, schema idleburn.bill_statement/1.
std::string BillStatementJson(const OwnerStatement& statement);
// The exact figures of one owner: rows of the kinds total, shared, resource, job and experiment.
std::string BillStatementCsv(const OwnerStatement& statement);

// The SHA-256 of a statement's CSV document. A statement with the same content has the same id.
std::string BillStatementId(const BillChargeback& all, const BillStatement& owner);
// The file of a statement, or "" of the bucket and where no files are written.
std::string BillStatementFile(const BillChargeback& all, const BillStatement& owner);

inline constexpr auto kChargebackWriters = std::to_array<FormatWriter<BillChargeback>>({
    {ReportFormat::kText, AsText<ChargebackPage, BillChargeback>},
    {ReportFormat::kJson, OnAnyPaper<ChargebackJson>},
    {ReportFormat::kHtml, AsHtml<ChargebackPage, BillChargeback>},
    {ReportFormat::kCsv, OnAnyPaper<ChargebackCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<ChargebackPage, BillChargeback>},
});

inline constexpr auto kBillStatementWriters = std::to_array<FormatWriter<OwnerStatement>>({
    {ReportFormat::kText, AsText<BillStatementPage, OwnerStatement>},
    {ReportFormat::kJson, OnAnyPaper<BillStatementJson>},
    {ReportFormat::kHtml, AsHtml<BillStatementPage, OwnerStatement>},
    {ReportFormat::kCsv, OnAnyPaper<BillStatementCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<BillStatementPage, OwnerStatement>},
});

// What `idleburn bill close` says.
std::string CloseWords(const BillCloseOutcome& outcome);

// The files of a chargeback by their names: the summary, and a statement for each owner.
std::vector<std::pair<std::string, std::string>> ChargebackFiles(BillChargeback all, ReportFormat format, Paper paper);

}  // namespace idleburn
