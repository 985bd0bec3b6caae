#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace idleburn {

// How far the scanner may read beyond the text. It loads whole blocks of 16 or 64 bytes and ignores what is behind
// the end.
inline constexpr std::size_t kScanPad = 64;

// Control characters count as blanks.
inline bool IsBlank(char c) { return static_cast<unsigned char>(c) <= ' '; }

inline const char* SkipBlanks(const char* p, const char* end) {
  while (p < end && IsBlank(*p)) ++p;
  return p;
}

inline const char* SkipBlanksAndCommas(const char* p, const char* end) {
  while (p < end && (IsBlank(*p) || *p == ',')) ++p;
  return p;
}

// Bytes that may end the plain part of a string: `Is` for one byte, `In` for sixteen at once.
struct StringStop {
  static bool Is(char c) { return c == '"' || c == '\\'; }
#if defined(__SSE2__)
  static __m128i In(__m128i bytes) {
    return _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
  }
#endif
};

// Bytes that end a number or a word: a blank, a comma, or a closing bracket (']' | 0x20 == '}').
struct ScalarStop {
  static bool Is(char c) { return IsBlank(c) || c == ',' || c == ']' || c == '}'; }
#if defined(__SSE2__)
  static __m128i In(__m128i bytes) {
    const __m128i blank = _mm_set1_epi8(' ');
    const __m128i blanks = _mm_cmpeq_epi8(_mm_min_epu8(bytes, blank), bytes);
    const __m128i closing = _mm_cmpeq_epi8(_mm_or_si128(bytes, blank), _mm_set1_epi8('}'));
    return _mm_or_si128(_mm_or_si128(blanks, closing), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(',')));
  }
#endif
};

// The first byte that is a Stop; null if there is none before `end`.
template <typename Stop>
inline const char* FindStop(const char* p, const char* end) {
#if defined(__SSE2__)
  for (; p < end; p += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const auto found = static_cast<unsigned>(_mm_movemask_epi8(Stop::In(bytes)));
    if (found == 0) continue;
    p += std::countr_zero(found);
    return p < end ? p : nullptr;
  }
#else
  for (; p < end; ++p) {
    if (Stop::Is(*p)) return p;
  }
#endif
  return nullptr;
}

// From after the opening quote to the closing one. Null if the string is not closed before `end`.
inline const char* StringEnd(const char* p, const char* end) {
  while ((p = FindStop<StringStop>(p, end)) != nullptr && *p != '"') p += 2;
  return p;
}

// Skips one value, which may come in pieces. It keeps depth and string state between pieces, so a value may be larger
// than memory.
class ValueSkipper {
 public:
  // Returns where the value ends, or null if it continues in the next piece.
  const char* Skip(const char* p, const char* end);

 private:
  enum class Kind : std::uint8_t { kNotBegun, kContainer, kString, kScalar };
  const char* SkipContainer(const char* p, const char* end);
  const char* SkipBytes(const char* p, const char* end);

  Kind kind_ = Kind::kNotBegun;
  bool in_string_ = false;
  bool escaped_ = false;  // the byte before was a backslash
  std::uint64_t depth_ = 0;
};

// Skips from the first byte of a value to behind its last. For a value that is in memory as a whole.
inline const char* SkipValue(const char* p, const char* end) { return ValueSkipper().Skip(p, end); }

// Like SkipValue, and sets `text` to the value: a string without its quotes and still escaped, anything else as
// written.
inline const char* ReadText(const char* p, const char* end, std::string_view& text) {
  const bool quoted = *p == '"';
  const bool container = *p == '{' || *p == '[';
  const char* const first = quoted ? p + 1 : p;
  const char* const last = quoted      ? StringEnd(first, end)
                           : container ? SkipValue(first, end)
                                       : FindStop<ScalarStop>(first, end);
  if (last == nullptr) return nullptr;
  text = std::string_view(first, static_cast<std::size_t>(last - first));
  return quoted ? last + 1 : last;
}

// How reading an object ended: understood, cut off by the end of the text, or not JSON.
enum class Scan : std::uint8_t { kWhole, kCut, kBad };

// Reads the members of the object that begins at `p`. For each, on_member(key, value) gets the key as it is written
// and the first byte of the value. It returns where the value ended, or null if the text ends before. Moves `p` as
// far as the object is understood.
template <typename OnMember>
Scan ReadMembers(const char*& p, const char* end, OnMember&& on_member) {
  ++p;
  while (true) {
    p = SkipBlanksAndCommas(p, end);
    if (p >= end) return Scan::kCut;
    if (*p == '}') return ++p, Scan::kWhole;
    if (*p != '"') return Scan::kBad;
    const char* const key = p + 1;
    const char* const key_end = StringEnd(key, end);
    if (key_end == nullptr) return Scan::kCut;
    p = SkipBlanks(key_end + 1, end);
    if (p >= end) return Scan::kCut;
    if (*p != ':') return Scan::kBad;
    p = SkipBlanks(p + 1, end);
    if (p >= end) return Scan::kCut;
    const char* const value_end = on_member(std::string_view(key, static_cast<std::size_t>(key_end - key)), p);
    if (value_end == nullptr) return Scan::kCut;
    p = value_end;
  }
}

// A member to read, by its key, into a member of T. A view stays valid as long as the scanned text.
template <typename T>
struct JsonField {
  std::string_view key;
  std::string_view T::*text;
};

// Reads the members that `fields` names into `out` and skips the others. Members mostly come in the order of the
// table, so the search for one begins after the one before.
template <typename T, std::size_t kCount>
Scan ReadFields(const char*& p, const char* end, const std::array<JsonField<T>, kCount>& fields, T& out) {
  std::size_t likely = 0;
  return ReadMembers(p, end, [&](std::string_view key, const char* value) {
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::size_t at = likely + i < kCount ? likely + i : likely + i - kCount;
      if (fields[at].key != key) continue;
      likely = at + 1 < kCount ? at + 1 : 0;
      return ReadText(value, end, out.*fields[at].text);
    }
    return SkipValue(value, end);
  });
}

// Reads the fields of the object in `text`. They stay empty if `text` is no object. kScanPad bytes after `text` must
// be readable.
template <typename T, std::size_t kCount>
T ReadObject(std::string_view text, const std::array<JsonField<T>, kCount>& fields) {
  T out;
  const char* p = text.data();
  if (!text.empty() && *p == '{') ReadFields(p, p + text.size(), fields, out);
  return out;
}

// The meaning of a string as written in the file: escapes are resolved, \u to UTF-8 (U+FFFD for half a surrogate
// pair). Unknown escapes stay as they are. `scratch` holds the result if it differs from `text`, so the view is valid
// until `scratch` changes.
std::string_view Unescape(std::string_view text, std::string& scratch);

}  // namespace idleburn
