#include "report/markdown_parts.h"

#include "text/markdown.h"

namespace idleburn {
namespace {

void AppendList(const std::vector<std::string>& lines, std::string* out) {
  for (const std::string& line : lines) *out += "- " + MarkdownEscaped(line) + "\n";
}

}  // namespace

void AppendMarkdownSection(std::string_view title, const std::vector<std::string>& lines, std::string* out) {
  if (lines.empty()) return;
  *out += "\n## " + MarkdownEscaped(title) + "\n\n";
  AppendList(lines, out);
}

void AppendMarkdownTable(const ReportTable& table, std::string* out) {
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

}  // namespace idleburn
