#pragma once

namespace idleburn {

// Classes of characters in ASCII, whatever the locale; bytes of other characters are in none.
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsLetter(char c) { return IsLower(c) || IsUpper(c); }
constexpr bool IsAlnum(char c) { return IsLetter(c) || IsDigit(c); }

}  // namespace idleburn
