#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/format_writers.h"
#include "text/table.h"

namespace idleburn {

// A report on one screen: at most Paper::rows lines, whatever there is to say and however narrow the terminal is. A
// reader who has to scroll does not read. Each line says how much it matters; if the page is too long, the least
// important lines go first, the last of them first. Nothing is lost: --full and the other formats have everything.

enum class LineRank : unsigned char {
  kSpace,   // a blank line
  kDetail,  // worth a line if there is one
  kUseful,
  kNeeded,  // without it, the screen misses a part of its answer
  kAlways,  // the verdict, and where the rest is
};

class Screen {
 public:
  explicit Screen(const Paper& paper);

  [[nodiscard]] int columns() const { return columns_; }
  // `code` is an SGR parameter such as "1". Without colour the text is returned as it is.
  [[nodiscard]] std::string Styled(std::string_view text, std::string_view code) const;

  // Several in a row are one.
  void Blank();
  // Text behind a lead, wrapped to at most `lines` lines; the last one ends in an ellipsis if text is left. Further
  // lines stand under the first. The text is escaped here.
  void Add(LineRank rank, std::string_view lead, std::string_view text, std::size_t lines = 1, bool bold = false);
  // Lines under one label of six columns, "why   ". Each takes at most two lines. The first is needed.
  void AddLabelled(std::string_view label, const std::vector<std::string>& lines, std::size_t most);
  // The first rows of a table. The header is as important as the first row; later rows go first. Columns without room
  // are left out, but the first.
  void AddTable(LineRank rank, std::span<const TableColumn> columns, std::span<const TableRow> rows, std::size_t most);
  // Lines that are escaped and laid out already.
  void AddText(LineRank rank, std::string_view text);
  // One line that is escaped and fits already: a bar, a row of a table.
  void Raw(LineRank rank, std::string line);

  // Lines without the blank ones: what the page needs at least.
  [[nodiscard]] std::size_t LinesOfText() const;
  // The page. The object is empty afterwards.
  std::string Take() &&;

 private:
  struct Part {
    LineRank rank;
    std::vector<std::string> lines;
  };
  int columns_;
  bool color_;
  std::size_t rows_;
  std::vector<Part> parts_;
};

}  // namespace idleburn
