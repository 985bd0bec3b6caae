#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// Makes text from files safe to show. Names in a log must not act on a terminal, browser or spreadsheet.

// For a terminal: control characters (escapes, newlines, DEL, C1) become '?', invalid UTF-8 becomes U+FFFD.
std::string Printable(std::string_view text);
// For HTML: Printable, with & < > " ' as entities.
std::string HtmlEscaped(std::string_view text);
// For a CSV cell: Printable, quoted where needed. A spreadsheet runs a cell that begins with = + - @ or a tab as a
// formula. Such a cell gets an apostrophe in front, unless it is a plain number like "-3.5".
std::string CsvCell(std::string_view text);

}  // namespace idleburn
