#include "report/markdown_parts.h"

#include "text/table.h"

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
  *out += "\n## " + MarkdownEscaped(table.title) + "\n\n";
  AppendMarkdownRows(table.columns, table.rows, out);
  if (!table.notes.empty()) *out += "\n";
  AppendList(table.notes, out);
}

}  // namespace idleburn
