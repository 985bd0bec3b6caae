#include "report/audit_report.h"
#include "report/audit_view.h"
#include "text/markdown.h"

namespace idleburn {
namespace {

constexpr std::size_t kGpuRows = 64;

void AppendList(const std::vector<std::string>& lines, std::string* out) {
  for (const std::string& line : lines) *out += "- " + MarkdownEscaped(line) + "\n";
}

void AppendSection(std::string_view title, const std::vector<std::string>& lines, std::string* out) {
  if (lines.empty()) return;
  *out += "\n## " + MarkdownEscaped(title) + "\n\n";
  AppendList(lines, out);
}

void AppendTable(const ReportTable& table, std::string* out) {
  if (table.rows.empty()) return;
  *out += "\n## " + MarkdownEscaped(table.title) + "\n\n|";
  for (const TableColumn& column : table.columns) *out += " " + MarkdownEscaped(column.header) + " |";
  *out += "\n|";
  for (const TableColumn& column : table.columns) {
    *out += column.align == TableColumn::Align::kRight ? " ---: |" : " :--- |";
  }
  *out += "\n";
  for (const TableRow& row : table.rows) {
    *out += "|";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::string cell = c < row.size() ? MarkdownEscaped(row[c]) : std::string();
      *out += (cell.starts_with("  ") ? " –" + cell.substr(1) : " " + cell) + " |";  // Markdown has no indented rows
    }
    *out += "\n";
  }
  if (!table.notes.empty()) *out += "\n";
  AppendList(table.notes, out);
}

}  // namespace

std::string AuditMarkdown(const AuditReport& report) {
  const AuditView view = ViewOf(report, {kGpuRows});
  std::string out = "# GPU audit\n\n**" + MarkdownEscaped(view.verdict) + "**\n\n" + MarkdownEscaped(view.title) + "\n";
  AppendSection("Why", view.why, &out);
  AppendSection("Next", view.next, &out);
  AppendTable(view.phases, &out);
  AppendTable(view.gpus, &out);
  AppendTable(view.owners, &out);
  AppendTable(view.trace, &out);
  AppendTable(view.idle, &out);
  AppendSection("Money", view.money, &out);
  AppendSection("Energy, clocks, bursts", view.signals, &out);
  AppendTable(view.findings, &out);
  AppendTable(view.recommendations, &out);
  if (report.explain) AppendTable(view.declined, &out);
  AppendTable(view.quality, &out);
  AppendSection("Machine", view.system, &out);
  AppendSection("How these figures were made", view.basis, &out);
  return out;
}

}  // namespace idleburn
