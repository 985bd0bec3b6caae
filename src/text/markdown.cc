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

std::string MarkdownTable(std::span<const TableColumn> columns, std::span<const TableRow> rows) {
  std::string text = "|";
  std::string rule = "\n|";
  for (const TableColumn& column : columns) {
    text += " " + column.header + " |";
    rule += column.align == TableColumn::Align::kRight ? "---:|" : "---|";
  }
  text += rule + "\n";
  for (const TableRow& row : rows) {
    text += "|";
    for (const std::string& cell : row) {
      text += " ";
      for (const char c : Printable(cell)) text += c == '|' ? "\\|" : std::string(1, c);
      text += " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace idleburn
