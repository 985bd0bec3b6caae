#include "profile/json_scan.h"

#include <algorithm>
#include <optional>

#include "os/input_file.h"

namespace idleburn {

// The hot part is skipping values: most of a trace is arguments that are not needed. 64 bytes at a time are turned into
// bit masks of quotes and brackets. A prefix XOR of the quotes tells which bytes are inside strings.

namespace {

constexpr std::size_t kStep = 64;

// What 64 bytes of text are. Bit i is about byte i.
struct Structure {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t opening = 0;
  std::uint64_t closing = 0;
};

#if defined(__SSE2__)
// The SSE2 version: four compares of 16 bytes each. All x86-64 processors have it, so there is no check at run time.
Structure LookAt(const char* p) {
  // Square brackets and braces differ only in this bit, and setting it makes no other byte a brace.
  const __m128i kind = _mm_set1_epi8(0x20);
  const auto bits = [](__m128i bytes, char c) {
    const __m128i equal = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c));
    return std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(equal))};
  };
  Structure s;
  for (unsigned i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * std::size_t{i}));
    const __m128i brackets = _mm_or_si128(bytes, kind);
    s.quotes |= bits(bytes, '"') << (16 * i);
    s.backslashes |= bits(bytes, '\\') << (16 * i);
    s.opening |= bits(brackets, '{') << (16 * i);
    s.closing |= bits(brackets, '}') << (16 * i);
  }
  return s;
}
#else
// The same for other processors, byte by byte. Compilers vectorize most of it.
Structure LookAt(const char* p) {
  Structure s;
  for (unsigned i = 0; i < kStep; ++i) {
    s.quotes |= std::uint64_t{p[i] == '"'} << i;
    s.backslashes |= std::uint64_t{p[i] == '\\'} << i;
    s.opening |= std::uint64_t{p[i] == '{' || p[i] == '['} << i;
    s.closing |= std::uint64_t{p[i] == '}' || p[i] == ']'} << i;
  }
  return s;
}
#endif

// Bit i: whether an odd number of bits up to i is set. For quotes, that is whether byte i is inside a string.
std::uint64_t PrefixXor(std::uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// The number of four hexadecimal digits. Absent unless the text begins with four of them.
std::optional<std::uint32_t> Hex4(std::string_view digits) {
  if (digits.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : digits.substr(0, 4)) {
    const std::uint32_t digit = c >= '0' && c <= '9'   ? static_cast<std::uint32_t>(c - '0')
                                : c >= 'a' && c <= 'f' ? static_cast<std::uint32_t>(c - 'a') + 10
                                : c >= 'A' && c <= 'F' ? static_cast<std::uint32_t>(c - 'A') + 10
                                                       : 16;
    if (digit == 16) return std::nullopt;
    value = value * 16 + digit;
  }
  return value;
}

// Appends the character of "\uXXXX" and returns how much of `rest` it read. `rest` is the text after "\u". A character
// beyond 16 bits is a pair of them. 0: no hexadecimal digits, and nothing was appended.
std::size_t AppendCodePoint(std::string_view rest, std::string& out) {
  constexpr std::uint32_t kReplacement = 0xFFFD;
  const std::optional<std::uint32_t> unit = Hex4(rest);
  if (!unit) return 0;
  if (*unit < 0xD800 || *unit > 0xDFFF) return AppendUtf8(out, *unit), 4;
  const bool pair = *unit < 0xDC00 && rest.substr(4, 2) == "\\u";
  const std::optional<std::uint32_t> low = pair ? Hex4(rest.substr(6)) : std::nullopt;
  if (!low || *low < 0xDC00 || *low > 0xDFFF) return AppendUtf8(out, kReplacement), 4;
  return AppendUtf8(out, 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00)), 10;
}

// The escapes of one letter.
struct Escape {
  char letter;
  char meaning;
};
constexpr auto kEscapes = std::to_array<Escape>(
    {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', '\b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}});

}  // namespace

const char* ValueSkipper::Skip(const char* p, const char* end) {
  if (p >= end) return nullptr;
  if (kind_ == Kind::kNotBegun) {
    kind_ = *p == '{' || *p == '[' ? Kind::kContainer : *p == '"' ? Kind::kString : Kind::kScalar;
    in_string_ = kind_ == Kind::kString;
    p += in_string_ ? 1 : 0;
  }
  if (kind_ == Kind::kScalar) return FindStop<ScalarStop>(p, end);
  return kind_ == Kind::kContainer ? SkipContainer(p, end) : SkipBytes(p, end);
}

// Skips an object or array, 64 bytes at a time. Brackets outside strings change the depth. Blocks with escapes go
// byte by byte, because an escaped quote ends no string; they are rare.
const char* ValueSkipper::SkipContainer(const char* p, const char* end) {
  while (p < end) {
    const std::size_t size = std::min(kStep, static_cast<std::size_t>(end - p));
    Structure s = LookAt(p);
    if (size < kStep) {
      const std::uint64_t inside = (std::uint64_t{1} << size) - 1;
      s = {s.quotes & inside, s.backslashes & inside, s.opening & inside, s.closing & inside};
    }
    if (escaped_ || s.backslashes != 0) {
      if (const char* const after = SkipBytes(p, p + size)) return after;
      p += size;
      continue;
    }
    const std::uint64_t strings = PrefixXor(s.quotes) ^ (in_string_ ? ~std::uint64_t{0} : 0);
    s.opening &= ~strings;
    s.closing &= ~strings;
    if (static_cast<std::uint64_t>(std::popcount(s.closing)) < depth_) {  // the value cannot end in this block
      depth_ += static_cast<std::uint64_t>(std::popcount(s.opening));
      depth_ -= static_cast<std::uint64_t>(std::popcount(s.closing));
    } else {
      for (std::uint64_t bits = s.opening | s.closing; bits != 0; bits &= bits - 1) {
        depth_ += (s.opening & bits & (~bits + 1)) != 0 ? std::uint64_t{1} : ~std::uint64_t{0};
        if (depth_ == 0) return p + std::countr_zero(bits) + 1;
      }
    }
    in_string_ = strings >> 63U != 0;
    p += size;
  }
  return nullptr;
}

// Byte by byte, for strings and where there are escapes.
const char* ValueSkipper::SkipBytes(const char* p, const char* end) {
  for (; p < end; ++p) {
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (*p == '\\') {
        escaped_ = true;
      } else if (*p == '"') {
        in_string_ = false;
        if (kind_ == Kind::kString) return p + 1;
      }
    } else if (*p == '"') {
      in_string_ = true;
    } else if (*p == '{' || *p == '[') {
      ++depth_;
    } else if (*p == '}' || *p == ']') {
      if (--depth_ == 0) return p + 1;
    }
  }
  return nullptr;
}

std::string_view Unescape(std::string_view text, std::string& scratch) {
  std::size_t at = text.find('\\');
  if (at == std::string_view::npos) return text;
  scratch.assign(text.substr(0, at));
  while (at < text.size()) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      scratch += text[at++];
      continue;
    }
    const char letter = text[at + 1];
    const auto known =
        std::find_if(kEscapes.begin(), kEscapes.end(), [&](const Escape& e) { return e.letter == letter; });
    const std::size_t code_point = letter == 'u' ? AppendCodePoint(text.substr(at + 2), scratch) : 0;
    if (code_point > 0) {
      at += 2 + code_point;
    } else if (known != kEscapes.end()) {
      scratch += known->meaning;
      at += 2;
    } else {
      scratch += '\\';
      ++at;
    }
  }
  return scratch;
}

}  // namespace idleburn
