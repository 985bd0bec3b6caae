#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/format_writers.h"

namespace idleburn {

// A report on one screen: at most kScreenRows lines, whatever there is to say and however narrow the terminal is. A
// reader who has to scroll does not read. Each line says how much it matters; if the page is too long, the least
// important lines go first, the last of them first. Nothing is lost: --full and the other formats have everything.
inline constexpr std::size_t kScreenRows = 24;

enum class Keep : unsigned char {
  kSpace,   // a blank line
  kDetail,  // worth a line if there is one
  kUseful,
  kNeeded,  // without it, the screen misses a part of its answer
  kAlways,  // the verdict, and where the rest is
};

class Screen {
 public:
  explicit Screen(const Paper& paper, std::size_t rows = kScreenRows);

  [[nodiscard]] int columns() const { return columns_; }
  // `code` is an SGR parameter such as "1". Without colour the text is returned as it is.
  [[nodiscard]] std::string Styled(std::string_view text, std::string_view code) const;

  void Blank();
  // Text behind a lead, wrapped to at most `lines` lines; the last one ends in an ellipsis if text is left. Further
  // lines stand under the first. The text is escaped here.
  void Add(Keep keep, std::string_view lead, std::string_view text, std::size_t lines = 1, bool bold = false);
  // One line that is escaped and fits already: a bar, a row of a table.
  void Raw(Keep keep, std::string line);

  // The page. The object is empty afterwards.
  std::string Take() &&;

 private:
  struct Part {
    Keep keep;
    std::vector<std::string> lines;
  };
  int columns_;
  bool color_;
  std::size_t rows_;
  std::vector<Part> parts_;
};

}  // namespace idleburn
