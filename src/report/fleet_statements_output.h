#pragma once

#include <string>

#include "fleet/fleet_statements.h"
#include "report/format_writers.h"
#include "report/report_page.h"

// The writers of `idleburn fleet statements`: the summary, and the statement of one team. Both print the amounts of
// report/fleet_charges.h.
namespace idleburn {

// One team of an answer. Both must outlive it.
struct TeamStatement {
  const FleetStatements& all;
  const FleetStatement& team;
};

ReportPage StatementsPage(const FleetStatements& statements);
// The document of docs/json/statements.md, schema idleburn.statements/1.
std::string StatementsJson(const FleetStatements& statements);
std::string StatementsCsv(const FleetStatements& statements);

ReportPage TeamStatementPage(const TeamStatement& statement);
// The document of docs/json/statement.md, schema idleburn.statement/1.
std::string TeamStatementJson(const TeamStatement& statement);
std::string TeamStatementCsv(const TeamStatement& statement);

inline constexpr auto kStatementsWriters = std::to_array<FormatWriter<FleetStatements>>({
    {ReportFormat::kText, AsText<StatementsPage, FleetStatements>},
    {ReportFormat::kJson, OnAnyPaper<StatementsJson>},
    {ReportFormat::kHtml, AsHtml<StatementsPage, FleetStatements>},
    {ReportFormat::kCsv, OnAnyPaper<StatementsCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<StatementsPage, FleetStatements>},
});

inline constexpr auto kTeamStatementWriters = std::to_array<FormatWriter<TeamStatement>>({
    {ReportFormat::kText, AsText<TeamStatementPage, TeamStatement>},
    {ReportFormat::kJson, OnAnyPaper<TeamStatementJson>},
    {ReportFormat::kHtml, AsHtml<TeamStatementPage, TeamStatement>},
    {ReportFormat::kCsv, OnAnyPaper<TeamStatementCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<TeamStatementPage, TeamStatement>},
});

}  // namespace idleburn
