#include "report/html_parts.h"

#include <fmt/format.h>

#include "text/escape.h"

namespace idleburn {
namespace {

std::string H(std::string_view text) { return HtmlEscaped(text); }

}  // namespace

void AppendHtmlLines(const std::vector<std::string>& lines, std::string_view css_class, std::string* out) {
  if (lines.empty()) return;
  *out += fmt::format("<ul class=\"{}\">\n", css_class);
  for (const std::string& line : lines) *out += "<li>" + H(line) + "</li>\n";
  *out += "</ul>\n";
}

void AppendHtmlGrid(const ReportTable& table, std::string* out) {
  if (table.rows.empty()) return;
  *out += "<section>\n<h2>" + H(table.title) + "</h2>\n<div class=\"scroll\"><table>\n<thead><tr>";
  const auto css = [&](std::size_t c) {
    return table.columns[c].align == TableColumn::Align::kRight ? " class=\"num\"" : "";
  };
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    *out += fmt::format("<th scope=\"col\"{}>{}</th>", css(c), H(table.columns[c].header));
  }
  *out += "</tr></thead>\n<tbody>\n";
  for (const TableRow& row : table.rows) {
    const bool part = row.front().starts_with("  ");
    *out += part ? "<tr class=\"part\">" : row.front() == "total" ? "<tr class=\"total\">" : "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) *out += fmt::format("<td{}>{}</td>", css(c), H(row[c]));
    *out += "</tr>\n";
  }
  *out += "</tbody></table></div>\n";
  AppendHtmlLines(table.notes, "notes", out);
  *out += "</section>\n";
}

void AppendHtmlTable(const ReportTable& table, std::string* out) {
  table.rows.empty() ? AppendHtmlSection(table.title, table.notes, out) : AppendHtmlGrid(table, out);
}

void AppendHtmlSection(std::string_view title, const std::vector<std::string>& lines, std::string* out) {
  if (lines.empty()) return;
  *out += "<section>\n<h2>" + H(title) + "</h2>\n";
  AppendHtmlLines(lines, "facts", out);
  *out += "</section>\n";
}

}  // namespace idleburn
