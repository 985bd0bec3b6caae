#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// Tables and wrapped text for a terminal, and the same tables in Markdown. Reports describe a table once, as columns
// and rows of text, and every output lays it out for itself. Widths are terminal columns, not bytes.

// The number of terminal columns that UTF-8 text takes. Wide East Asian characters and emoji take two, combining marks
// none.
int DisplayWidth(std::string_view text);

// Cuts `text` to `width` columns. A text that was cut ends in an ellipsis.
std::string Shortened(std::string_view text, int width);

// Breaks text at spaces into lines of at most `width` columns. A word longer than a line is broken inside.
std::vector<std::string> WrapWords(std::string_view text, int width);

// How one column of a table looks, and how it yields when the terminal is too narrow.
struct TableColumn {
  enum class Align { kLeft, kRight };
  std::string header;
  Align align = Align::kLeft;
  bool wraps = false;       // its cells wrap when the table is wider than the terminal
  bool expendable = false;  // dropped if wrapping does not suffice, the last such column first
};
// The cells of one row, in the order of the columns.
using TableRow = std::vector<std::string>;

// Lays a table out for a terminal of `width` columns. Two spaces separate columns. Each line starts with `indent`
// spaces and has none at its end. Cells pass through Printable (text/strings.h). A short row gets empty cells. A table
// that is still too wide after wrapping and dropping is printed too wide rather than cut.
std::string LayOutTable(std::span<const TableColumn> columns, std::span<const TableRow> rows, int width, int indent);

// Replaces the signs of reports with ASCII that looks alike, for a terminal that cannot show UTF-8. Any other UTF-8
// character becomes one question mark per column. The width stays the same, except that "±" takes one column more.
// `text` must be valid UTF-8.
std::string AsciiOnly(std::string_view text);

// Appends a Markdown table to `*out`. Appends nothing if there are no rows.
void AppendMarkdownRows(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows, std::string* out);

}  // namespace idleburn
