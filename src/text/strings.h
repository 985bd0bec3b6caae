#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {
// Small operations on strings. They know ASCII only: names of GPUs, columns and flags are ASCII, and bytes of other
// characters must pass unchanged.

// ASCII character classes. Bytes of multi-byte UTF-8 characters belong to none of them.
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsLetter(char c) { return IsLower(c) || IsUpper(c); }
constexpr bool IsAlnum(char c) { return IsLetter(c) || IsDigit(c); }

// Whether every character is a digit. True of an empty text.
constexpr bool AllDigits(std::string_view text) { return std::all_of(text.begin(), text.end(), IsDigit); }

// Lower-cases ASCII letters and keeps all other bytes: "H100 Ä" becomes "h100 Ä".
std::string Lower(std::string_view text);
// Compares the beginning of `text` with `start`. Only ASCII letters match in either case.
bool StartsWithIgnoreCase(std::string_view text, std::string_view start);

// Whether `text` contains `word`, in any case of ASCII letters.
bool Mentions(std::string_view text, std::string_view word);

// Keeps only letters and digits, in lower case. Users spell one name in several ways: "ZeRO-3" and "zero_3" both
// become "zero3".
inline std::string Squash(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) plain += static_cast<char>(std::tolower(byte));
  }
  return plain;
}

// Splits a list and trims its parts. Empty parts stay: "a, b," gives "a", "b" and "". An empty list is one empty part.
std::vector<std::string_view> Split(std::string_view list, char separator);

// Joins parts with `separator`. `text` selects what to print of a part: a member, or a function.
// ListText(devices, ", ", &Device::name) gives "H100, A100".
template <typename Parts, typename Text = std::identity>
std::string ListText(const Parts& parts, std::string_view separator = ", ", Text text = {}) {
  std::string list;
  for (const auto& part : parts) {
    if (!list.empty()) list += separator;
    list += std::invoke(text, part);
  }
  return list;
}

// Hash for unordered containers of strings that look up a string_view without a copy. The container also needs
// std::equal_to<>.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// Makes text from files safe to show. A log may come from anyone, and a name in it must not act on a terminal
// (colours, cursor, title), a browser (script) or a spreadsheet (formula). Whatever came from an input must pass
// through one of these functions before it is printed or written to a page.

// For a terminal: control characters (escapes, newlines, DEL, C1), line separators and bidirectional overrides become
// '?'; each byte of invalid UTF-8 becomes U+FFFD. The result is valid UTF-8 on one line.
std::string Printable(std::string_view text);
// For HTML: Printable, with & < > " ' as entities.
std::string HtmlEscaped(std::string_view text);
// For Markdown: Printable, without HTML, links in brackets, code, cell borders, and emphasis by asterisks. Underscores
// stay, because names of metrics and columns are full of them.
std::string MarkdownEscaped(std::string_view text);
// For a CSV cell: Printable, quoted where needed. A spreadsheet runs a cell that begins with = + - @ or a tab as a
// formula. Such a cell gets an apostrophe in front, unless it is a plain number like "-3.5".
std::string CsvCell(std::string_view text);

}  // namespace idleburn
