#include "text/strings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "text/number.h"

namespace idleburn {
std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool StartsWithIgnoreCase(std::string_view text, std::string_view start) {
  return EqualsIgnoreCase(text.substr(0, start.size()), start);
}

bool Mentions(std::string_view text, std::string_view word) {
  const auto found = std::search(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
    return EqualsIgnoreCase(std::string_view(&a, 1), std::string_view(&b, 1));
  });
  return found != text.end();
}

std::vector<std::string_view> Split(std::string_view list, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = list.find(separator);
    parts.push_back(Trim(list.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    list.remove_prefix(end + 1);
  }
}

namespace {

// The length of the valid UTF-8 sequence at the start of `text`, or 0 if there is none. *code is its code point.
// Overlong forms and surrogates are invalid, so that no character can hide behind a second spelling.
std::size_t DecodeUtf8(std::string_view text, std::uint32_t* code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    *code = lead;
    return 1;
  }
  const std::size_t length = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead >= 0xF5 || text.size() < length) return 0;
  std::uint32_t value = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  if (overlong || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return 0;
  *code = value;
  return length;
}

// Whether a character changes how the text around it is shown: controls, line separators, bidirectional overrides.
bool Acts(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

// Whether a cell is a plain number such as "-3.5". A sign in front of a number is no formula.
bool IsSignedNumber(std::string_view text) {
  return text.size() > 1 && (text.front() == '-' || text.front() == '+') &&
         text.find_first_not_of("0123456789.", 1) == std::string_view::npos;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t length = DecodeUtf8(text, &code);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (Acts(code)) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

namespace {

// What stands for a character.
using Escape = std::pair<char, std::string_view>;

std::string Escaped(std::string_view text, std::span<const Escape> escapes) {
  std::string out;
  for (const char c : Printable(text)) {
    const auto escape = std::find_if(escapes.begin(), escapes.end(), [c](const Escape& e) { return e.first == c; });
    out += escape == escapes.end() ? std::string_view(&c, 1) : escape->second;
  }
  return out;
}

}  // namespace

std::string HtmlEscaped(std::string_view text) {
  static constexpr auto kEscapes =
      std::to_array<Escape>({{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
  return Escaped(text, kEscapes);
}

std::string MarkdownEscaped(std::string_view text) {
  static constexpr auto kEscapes = std::to_array<Escape>({{'&', "&amp;"},
                                                          {'<', "&lt;"},
                                                          {'>', "&gt;"},
                                                          {'\\', "\\\\"},
                                                          {'`', "\\`"},
                                                          {'*', "\\*"},
                                                          {'[', "\\["},
                                                          {']', "\\]"},
                                                          {'|', "\\|"}});
  return Escaped(text, kEscapes);
}

// The tab is looked for in the original text, since Printable has replaced it.
std::string CsvCell(std::string_view text) {
  std::string cell = Printable(text);
  const bool formula = !cell.empty() && std::string_view("=+-@").find(cell.front()) != std::string_view::npos;
  if ((formula && !IsSignedNumber(cell)) || (!text.empty() && text.front() == '\t')) cell.insert(0, "'");
  if (cell.find_first_of(",\"") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    quoted += c;
    if (c == '"') quoted += '"';
  }
  return quoted + "\"";
}

}  // namespace idleburn
