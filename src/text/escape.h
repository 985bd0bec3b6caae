#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// Names come from files; none may act on the reader's terminal, browser or spreadsheet.

// Control characters (terminal escapes, newlines, DEL, C1) become '?'; invalid UTF-8 becomes U+FFFD.
std::string Printable(std::string_view text);
// Printable, with & < > " ' as entities.
std::string HtmlEscaped(std::string_view text);
// Printable, quoted as a CSV cell where needed; a cell that a spreadsheet would run as a formula
// (first character = + - @ tab) is prefixed with an apostrophe unless it is a plain number.
std::string CsvCell(std::string_view text);

}  // namespace idleburn
