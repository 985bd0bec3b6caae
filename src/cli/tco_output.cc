#include "cli/tco_output.h"

#include <fmt/format.h>

#include "text/escape.h"
#include "text/table.h"

namespace idleburn {
namespace {

std::string Section(std::string_view title, const std::vector<std::string>& lines, int width) {
  if (lines.empty()) return {};
  std::string text = "\n" + std::string(title) + "\n";
  for (const std::string& line : lines) {
    bool first = true;
    for (const std::string& piece : WrapWords(Printable(line), width - 4)) {
      text += (first ? "  " : "    ") + piece + "\n";
      first = false;
    }
  }
  return text;
}

std::string CostTable(const TcoAnswer& answer, int width) {
  std::vector<TableColumn> columns = {{"Cost", TableColumn::Align::kLeft}};
  for (const std::string& header : TcoColumns(answer)) columns.push_back({header, TableColumn::Align::kRight});
  std::vector<TableRow> rows;
  for (const TcoRow& row : TcoRows(answer)) {
    TableRow cells = {(row.part ? "  " : "") + row.label};
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
    rows.push_back(std::move(cells));
  }
  return LayOutTable(columns, rows, width, 2);
}

std::string MonthTable(const ActualReport& report, const std::string& currency, int width) {
  std::vector<TableColumn> columns;
  for (const std::string& header : TcoMonthHeaders(currency)) {
    const bool number = columns.size() >= 2;
    columns.push_back({header, number ? TableColumn::Align::kRight : TableColumn::Align::kLeft});
  }
  return "\nActual and plan\n" + LayOutTable(columns, TcoMonthRows(report, currency), width, 2);
}

}  // namespace

std::string TcoText(const TcoAnswer& answer, int width) {
  std::string text;
  for (const std::string& line : WrapWords(Printable(TcoVerdict(answer)), width)) text += line + "\n";
  std::vector<std::string> uncertain;
  std::vector<std::string> units;
  std::vector<std::string> levers;
  for (const TcoScenario& s : answer.scenarios) {
    for (const std::string& line : TcoUncertaintyLines(s)) uncertain.push_back(line);
    for (const std::string& line : TcoUnitLines(s)) units.push_back(line);
    for (const std::string& line : TcoLeverLines(s)) levers.push_back(line);
  }
  const std::string& currency = answer.scenarios.front().plan.currency;
  text += Section("Warnings", answer.warnings, width);
  text += "\n" + CostTable(answer, width);
  text += Section("Top levers, each alone: they do not add up", levers, width);
  text += Section("How sure", uncertain, width);
  text += Section("What a unit costs", units, width);
  if (answer.own) text += Section("Buy or rent", TcoOwnLines(*answer.own, currency), width);
  if (answer.actuals) {
    text += MonthTable(*answer.actuals, currency, width);
    text += Section("So far", TcoActualLines(*answer.actuals, currency), width);
  }
  return text + Section("How these figures were made", TcoBasisLines(answer), width);
}

std::string TcoCsv(const TcoAnswer& answer) {
  std::string text = "scenario,category,line,amount,currency,given\n";
  for (const TcoScenario& s : answer.scenarios) {
    const int digits = MinorUnitDigits(s.plan.currency);
    const auto row = [&](std::string_view category, std::string_view line, Money amount, bool given) {
      text += fmt::format("{},{},{},{},{},{}\n", CsvCell(s.plan.name), category, CsvCell(line),
                          FormatExact(amount, digits), CsvCell(s.plan.currency), given);
    };
    for (std::size_t i = 0; i < s.plan.lines.size(); ++i) {
      row(Name(s.plan.lines[i].category), s.plan.lines[i].name, s.cost.lines[i], true);
    }
    for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
      if (!s.cost.given[c]) row(kCostCategoryNames[c], "", Money(), false);
    }
    row("contingency", "", s.cost.contingency, true);
    row("total", "", s.cost.total, true);
  }
  return text;
}

}  // namespace idleburn
