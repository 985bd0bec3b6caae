#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// Makes text from files safe to show. A log may come from anyone, and a name in it must not act on a terminal
// (colours, cursor, title), a browser (script) or a spreadsheet (formula). Whatever came from an input must pass
// through one of these functions before it is printed or written to a page.

// For a terminal: control characters (escapes, newlines, DEL, C1), line separators and bidirectional overrides become
// '?'; each byte of invalid UTF-8 becomes U+FFFD. The result is valid UTF-8 on one line.
std::string Printable(std::string_view text);
// For HTML: Printable, with & < > " ' as entities.
std::string HtmlEscaped(std::string_view text);
// For a CSV cell: Printable, quoted where needed. A spreadsheet runs a cell that begins with = + - @ or a tab as a
// formula. Such a cell gets an apostrophe in front, unless it is a plain number like "-3.5".
std::string CsvCell(std::string_view text);

}  // namespace idleburn
