#include "text/markdown.h"

#include "text/escape.h"

namespace idleburn {

std::string MarkdownEscaped(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '\\':
      case '`':
      case '*':
      case '[':
      case ']':
      case '|':
        out += '\\';
        out += c;
        break;
      default:
        out += c;
    }
  }
  return out;
}

void AppendMarkdownRows(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows, std::string* out) {
  if (rows.empty()) return;
  *out += "|";
  for (const TableColumn& column : columns) *out += " " + MarkdownEscaped(column.header) + " |";
  *out += "\n|";
  for (const TableColumn& column : columns) {
    *out += column.align == TableColumn::Align::kRight ? " ---: |" : " :--- |";
  }
  *out += "\n";
  for (const TableRow& row : rows) {
    *out += "|";
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string cell = c < row.size() ? MarkdownEscaped(row[c]) : std::string();
      *out += (cell.starts_with("  ") ? " –" + cell.substr(1) : " " + cell) + " |";  // Markdown has no indented rows
    }
    *out += "\n";
  }
}

}  // namespace idleburn
