#pragma once

#include <cctype>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// Classes of characters in ASCII, whatever the locale; bytes of other characters are in none.
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsLetter(char c) { return IsLower(c) || IsUpper(c); }
constexpr bool IsAlnum(char c) { return IsLetter(c) || IsDigit(c); }

// Appends a code point (below 0x110000, no surrogate) as UTF-8.
inline void AppendUtf8(std::string& out, char32_t point) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | (point >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// Of the letters of ASCII; all else stays, and differs.
std::string Lower(std::string_view text);
bool StartsWithIgnoreCase(std::string_view text, std::string_view start);

// Whether `word` stands anywhere in `text`, in capitals or not.
bool Mentions(std::string_view text, std::string_view word);

// Letters and digits alone, in lower case: "ZeRO-3" and "zero_3" are "zero3". What two people write of one thing.
inline std::string Squash(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) plain += static_cast<char>(std::tolower(byte));
  }
  return plain;
}

// The parts of a list, trimmed, the empty ones too: "a, b," is "a", "b" and "". An empty list is one empty part.
std::vector<std::string_view> Split(std::string_view list, char separator);

// The parts as one text with `separator` between; `text` is what is said of a part: a member of it, or a function.
template <typename Parts, typename Text = std::identity>
std::string ListText(const Parts& parts, std::string_view separator = ", ", Text text = {}) {
  std::string list;
  for (const auto& part : parts) {
    if (!list.empty()) list += separator;
    list += std::invoke(text, part);
  }
  return list;
}

// For tables by text in which a string_view can be looked up without making a string of it.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace idleburn
