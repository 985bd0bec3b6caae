#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// Columns a terminal needs for UTF-8 text: wide East Asian characters and emoji take two, combining marks none.
int DisplayWidth(std::string_view text);

// The longest start of `text` that fits `width` columns, ending in an ellipsis if anything was cut off.
std::string Shortened(std::string_view text, int width);

// Lines of at most `width` columns, broken at spaces; a word that is longer than a line is broken inside.
std::vector<std::string> WrapWords(std::string_view text, int width);

struct TableColumn {
  enum class Align { kLeft, kRight };
  std::string header;
  Align align = Align::kLeft;
  bool wraps = false;       // gives way, by wrapping its cells, when the table is wider than the terminal
  bool expendable = false;  // left out, the last such column first, when wrapping does not suffice
};
using TableRow = std::vector<std::string>;

// A table for a terminal: columns two spaces apart under their headers, each line starting with `indent` spaces
// and ending without any. Cells pass through Printable. A row shorter than `columns` is filled up with blanks.
std::string LayOutTable(std::span<const TableColumn> columns, std::span<const TableRow> rows, int width, int indent);

}  // namespace idleburn
