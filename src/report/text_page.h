#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/report_table.h"

namespace idleburn {

// Builds a report for a terminal, escaping every string on its way in. Colour is added outside of what was escaped and
// carries no meaning of its own.
class TextPage {
 public:
  static constexpr int kNarrowest = 40;
  static constexpr int kWidest = 140;  // longer lines are hard to read

  TextPage(int width, bool color);

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] std::string Bold(std::string_view text) const { return Styled(text, "1"); }
  [[nodiscard]] std::string Styled(std::string_view text, std::string_view code) const;
  void Raw(std::string_view text) { out_ += text; }
  void Blank() { out_ += '\n'; }
  void Heading(std::string_view text);
  // A paragraph: `lead` on the first line, then blanks as wide.
  void Wrapped(std::string_view lead, std::string_view text, bool bold = false);
  // "  why   ..." with further lines under the first.
  void Labelled(std::string_view label, const std::vector<std::string>& lines);
  void Lines(const std::vector<std::string>& lines);
  void Section(std::string_view title, const std::vector<std::string>& lines);
  // A table without rows is left out.
  void Grid(const ReportTable& table);
  // A table too wordy for a grid: a numbered list whose headline is the first cell, the others under their headers.
  void Cards(const ReportTable& table, std::size_t limit);

  std::string Take() && { return std::move(out_); }

 private:
  int width_;
  bool color_;
  std::string out_;
};

}  // namespace idleburn
