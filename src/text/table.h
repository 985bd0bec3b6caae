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

// For a terminal of another character set: the signs that reports are drawn with as signs of ASCII that look alike, any
// other character of UTF-8 as a question mark a column. As wide as before, but for one column more of a plus-minus.
std::string AsciiOnly(std::string_view text);

// Text that Markdown shows as it stands: no markup, no HTML, no link, no end of a table cell.
std::string MarkdownEscaped(std::string_view text);

// Nothing without rows.
void AppendMarkdownRows(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows, std::string* out);

}  // namespace idleburn
