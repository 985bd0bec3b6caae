#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/audit_view.h"
#include "text/escape.h"
#include "text/table.h"

namespace idleburn {

// Builds a report for a terminal, escaping every string on its way in. Colour is added outside of what was escaped and
// carries no meaning of its own.
class TextPage {
 public:
  static constexpr int kNarrowest = 40;
  static constexpr int kWidest = 140;  // longer lines are hard to read

  TextPage(int width, bool color) : width_(std::clamp(width, kNarrowest, kWidest)), color_(color) {}

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] std::string Bold(std::string_view text) const { return Styled(text, "1"); }
  [[nodiscard]] std::string Styled(std::string_view text, std::string_view code) const {
    return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  void Raw(std::string_view text) { out_ += text; }
  void Blank() { out_ += '\n'; }
  void Heading(std::string_view text) { out_ += "\n" + Bold(Printable(text)) + "\n"; }

  // A paragraph: `lead` on the first line, then blanks as wide.
  void Wrapped(std::string_view lead, std::string_view text, bool bold = false) {
    const int indent = DisplayWidth(lead);
    std::string_view start = lead;
    const std::string blanks(static_cast<std::size_t>(indent), ' ');
    for (const std::string& line : WrapWords(Printable(text), width_ - indent)) {
      out_ += std::string(start) + (bold ? Bold(line) : line) + "\n";
      start = blanks;
    }
  }
  // "  why   ..." with further lines under the first.
  void Labelled(std::string_view label, const std::vector<std::string>& lines) {
    std::string lead = fmt::format("  {:<6}", label);
    for (const std::string& line : lines) {
      Wrapped(lead, line);
      lead.assign(lead.size(), ' ');
    }
  }
  void Lines(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) Wrapped("  ", line);
  }
  void Section(std::string_view title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    Heading(title);
    Lines(lines);
  }
  // A table without rows is left out.
  void Grid(const ReportTable& table) {
    if (table.rows.empty()) return;
    Heading(table.title);
    out_ += LayOutTable(table.columns, table.rows, width_, 2);
    Lines(table.notes);
  }
  void Cards(const ReportTable& table, std::size_t limit) {
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

  std::string Take() && { return std::move(out_); }

 private:
  int width_;
  bool color_;
  std::string out_;
};

}  // namespace idleburn
