#include "report/text_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/escape.h"
#include "text/table.h"

namespace idleburn {

TextPage::TextPage(int width, bool color) : width_(std::clamp(width, kNarrowest, kWidest)), color_(color) {}

std::string TextPage::Styled(std::string_view text, std::string_view code) const {
  return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

void TextPage::Heading(std::string_view text) { out_ += "\n" + Bold(Printable(text)) + "\n"; }

void TextPage::Wrapped(std::string_view lead, std::string_view text, bool bold) {
  const int indent = DisplayWidth(lead);
  std::string_view start = lead;
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  for (const std::string& line : WrapWords(Printable(text), width_ - indent)) {
    out_ += std::string(start) + (bold ? Bold(line) : line) + "\n";
    start = blanks;
  }
}

void TextPage::Labelled(std::string_view label, const std::vector<std::string>& lines) {
  std::string lead = fmt::format("  {:<6}", label);
  for (const std::string& line : lines) {
    Wrapped(lead, line);
    lead.assign(lead.size(), ' ');
  }
}

void TextPage::Lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) Wrapped("  ", line);
}

void TextPage::Section(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  Heading(title);
  Lines(lines);
}

void TextPage::Grid(const ReportTable& table) {
  if (table.rows.empty()) return;
  Heading(table.title);
  out_ += LayOutTable(table.columns, table.rows, width_, 2);
  Lines(table.notes);
}

void TextPage::Cards(const ReportTable& table, std::size_t limit) {
  Heading(table.title);
  for (std::size_t i = 0; i < std::min(limit, table.rows.size()); ++i) {
    const TableRow& row = table.rows[i];
    Wrapped(fmt::format("  {}. ", i + 1), row.front());
    for (std::size_t c = 1; c < row.size(); ++c) {
      if (!row[c].empty()) Wrapped(fmt::format("     {}: ", table.columns[c].header), row[c]);
    }
  }
  if (table.rows.size() > limit) out_ += fmt::format("  and {} more: --explain\n", table.rows.size() - limit);
  Lines(table.notes);
}

}  // namespace idleburn
