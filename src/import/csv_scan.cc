#include "import/csv_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__SSE4_1__)
#include <immintrin.h>
#endif

namespace idleburn {

// Both scanners have a portable version, a version for the x86 level that the build targets, and an AVX2 version that
// is chosen when the program runs. All versions give the same result.

namespace {

constexpr std::size_t kScanStep = 64;

// Bit i is set if byte i of 64 is a delimiter, or a line end.
struct Found {
  std::uint64_t delimiters = 0;
  std::uint64_t line_ends = 0;
};

#if defined(__SSE2__)
// Looks at 64 bytes, in four registers of 16.
Found LookAt(const char* p) {
  const __m128i comma = _mm_set1_epi8(',');
  const __m128i newline = _mm_set1_epi8('\n');
  Found found;
  for (unsigned i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * std::size_t{i}));
    const __m128i ends = _mm_cmpeq_epi8(bytes, newline);
    const __m128i both = _mm_or_si128(_mm_cmpeq_epi8(bytes, comma), ends);
    found.delimiters |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(both))} << (16 * i);
    found.line_ends |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(ends))} << (16 * i);
  }
  return found;
}
#else
// The same, byte by byte.
Found LookAt(const char* p) {
  Found found;
  for (unsigned i = 0; i < kScanStep; ++i) {
    found.delimiters |= std::uint64_t{p[i] == ',' || p[i] == '\n'} << i;
    found.line_ends |= std::uint64_t{p[i] == '\n'} << i;
  }
  return found;
}
#endif

// The two lists being written. Each has room for kScanStep more entries than there are bytes.
struct Lists {
  std::uint32_t* cell_end;
  std::uint32_t* last_cell;
};

// Writes the positions of all delimiters, one step of 64 bytes after another. Returns the number of lines.
template <Found (*kLookAt)(const char*)>
[[gnu::always_inline]] inline std::size_t ListAll(const char* text, std::size_t size, Lists lists) {
  std::uint32_t* cells = lists.cell_end;
  std::uint32_t* lines = lists.last_cell;
  for (std::size_t at = 0; at < size; at += kScanStep) {
    Found found = kLookAt(text + at);
    // Bytes behind the text do not count.
    if (size - at < kScanStep) {
      const std::uint64_t inside = (std::uint64_t{1} << (size - at)) - 1;
      found.delimiters &= inside;
      found.line_ends &= inside;
    }
    // The index of a line's last cell is the number of delimiters before the line's end, in all steps so far.
    const auto listed = static_cast<std::uint32_t>(cells - lists.cell_end) + 1;
    for (std::uint64_t bits = found.line_ends; bits != 0; bits &= bits - 1) {
      const std::uint64_t before = found.delimiters & ((bits & (~bits + 1)) - 1);
      *lines++ = listed + static_cast<std::uint32_t>(std::popcount(before));
    }
    // Writes groups of eight regardless of the count, because a branch on the count is mispredicted often.
    std::uint32_t* out = cells;
    cells += std::popcount(found.delimiters);
    for (std::uint64_t bits = found.delimiters; bits != 0; out += 8) {
      constexpr std::uint64_t kLast = std::uint64_t{1} << 63;  // keeps the surplus entries defined
      for (int i = 0; i < 8; ++i) {
        out[i] = static_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(std::countr_zero(bits | kLast));
        bits &= bits - 1;
      }
    }
  }
  return static_cast<std::size_t>(lines - lists.last_cell);
}

#if defined(__SSE2__)
// The same in two registers of 32 bytes. The lambda names its target itself, because lambdas do not inherit it.
[[gnu::target("avx2,bmi,popcnt")]] inline Found LookAtAvx2(const char* p) {
  const __m256i comma = _mm256_set1_epi8(',');
  const __m256i newline = _mm256_set1_epi8('\n');
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32));
  const __m256i ends_low = _mm256_cmpeq_epi8(low, newline);
  const __m256i ends_high = _mm256_cmpeq_epi8(high, newline);
  const auto bits = [](__m256i a, __m256i b) __attribute__((target("avx2"))) {
    const auto low_bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(a));
    return std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(b))} << 32 | low_bits;
  };
  return {bits(_mm256_or_si256(_mm256_cmpeq_epi8(low, comma), ends_low),
               _mm256_or_si256(_mm256_cmpeq_epi8(high, comma), ends_high)),
          bits(ends_low, ends_high)};
}
// The same code, compiled for AVX2. A separate function lets one binary serve machines with and without it.
[[gnu::target("avx2,bmi,popcnt")]] std::size_t ListAllAvx2(const char* text, std::size_t size, Lists lists) {
  return ListAll<LookAtAvx2>(text, size, lists);
}
bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0; }
#else
std::size_t ListAllAvx2(const char* text, std::size_t size, Lists lists) { return ListAll<LookAt>(text, size, lists); }
bool HasAvx2() { return false; }
#endif

}  // namespace

// Fills both lists. Their first elements stand for the line before the block, so that callers need no special case.
void Delimiters::Find(const char* text, std::size_t size) {
  // Every byte may be a delimiter, and a step writes beyond the last one.
  if (cell_end_.size() < size + 2 * kScanStep) {
    cell_end_.resize(size + 2 * kScanStep);
    last_cell_.resize(size + 2 * kScanStep);
  }
  cell_end_[0] = UINT32_MAX;
  last_cell_[0] = 0;
  static const bool kAvx2 = HasAvx2();
  const Lists lists = {cell_end_.data() + 1, last_cell_.data() + 1};
  lines_ = kAvx2 ? ListAllAvx2(text, size, lists) : ListAll<LookAt>(text, size, lists);
}

// Lays the form out backwards from the cell's end: the suffix, then digits, with the point between them.
NumberForm::NumberForm(std::string_view number, std::string_view suffix) {
  const std::size_t dot = std::min(number.find('.'), number.size());
  decimals = dot < number.size() ? number.size() - dot - 1 : 0;
  const std::size_t point = decimals > 0 ? 1 : 0;
  // Too long to be read at once.
  if (decimals >= kMaxDigits || suffix.size() + kMaxDigits + point > kLook) return;
  shortest = 1 + point + decimals + suffix.size();
  span = kMaxDigits - 1 - decimals;
  expected.fill('0');
  std::copy_backward(suffix.begin(), suffix.end(), expected.end());
  std::size_t at = kLook - suffix.size();  // one after the last digit that is not yet placed
  for (std::size_t left = kMaxDigits; left > 0; --left) {
    if (point == 1 && kMaxDigits - left == decimals) expected[--at] = '.';
    above[--at] = 9;
    digits[left - 1] = static_cast<std::uint8_t>(at);
  }
}

NumberPair::NumberPair(const NumberColumn& a, const NumberColumn& b)
    : most{a.most, b.most, INT32_MAX, INT32_MAX}, scale{a.scale, b.scale} {
  const auto half_of = [](const NumberColumn& c) {
    return Half{c.form.expected, c.form.above, c.form.digits,  c.form.shortest,
                c.form.span,     c.position,   Index(c.signal)};
  };
  half = {half_of(a), half_of(b)};
}

namespace {

// The number in a cell, without its point. Absent if the cell does not have the form. Every character is compared
// with the form at its distance from the cell's end, which also refuses signs, exponents and other units.
std::optional<std::uint32_t> PlainNumber(const NumberPair::Half& column, std::string_view cell) {
  constexpr std::size_t kLook = NumberForm::kLook;
  if (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
  if (cell.size() - column.shortest > column.span) return std::nullopt;  // wraps where the cell is too short
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const std::size_t at = kLook - cell.size() + i;
    const auto over = static_cast<std::uint8_t>(cell[i] - column.expected[at]);
    if (over > column.above[at]) return std::nullopt;
    if (column.above[at] > 0) number = number * 10 + over;
  }
  return number;
}

}  // namespace

void ReadNumbersPlainly(std::span<const NumberPair> pairs, const NumberRows& rows) {
  for (std::size_t line = 0; line < rows.lines; ++line) {
    const std::uint32_t* const ends = rows.cell_end + rows.last_cell[line] + 1;
    rows.usual[line] = rows.last_cell[line + 1] - rows.last_cell[line] == rows.columns ? 1 : 0;
    for (std::size_t i = 0; i < 2 * pairs.size() && rows.usual[line] != 0; ++i) {
      const NumberPair& pair = pairs[i / 2];
      const NumberPair::Half& column = pair.half[i % 2];
      const std::uint32_t begin = (ends + column.position)[-1] + 1;
      const auto number = PlainNumber(column, {rows.text + begin, ends[column.position] - begin});
      if (number && *number <= static_cast<std::uint32_t>(pair.most[i % 2])) {
        rows.values[column.signal][line] = static_cast<std::int64_t>(*number * pair.scale[i % 2]);
      } else {
        rows.usual[line] = 0;
      }
    }
  }
}

#if defined(__SSE4_1__)
namespace {

// A load without alignment. The cells of a text begin anywhere.
__m128i LoadVector(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }

// A load at offset n gives a mask that keeps the last n bytes of a vector.
constexpr std::array<std::uint8_t, 2 * NumberForm::kLook> kKeepLast = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

// The form of a column, loaded into registers.
struct Expected {
  explicit Expected(const NumberPair::Half& half)
      : text(LoadVector(&half.expected)),
        above(LoadVector(&half.above)),
        digits(LoadVector(&half.digits)),
        shortest(static_cast<std::uint32_t>(half.shortest)),
        span(static_cast<std::uint32_t>(half.span)) {}
  __m128i text;
  __m128i above;
  __m128i digits;
  std::uint32_t shortest;
  std::uint32_t span;
};

// The cell that ends at *end, as sixteen bytes: each character minus the expected one, and 0 before the cell. Digits
// yield their values; every other character must yield 0. If the cell is too short or too long, all bytes are wrong.
inline __m128i Compare(const Expected& column, const char* text, const std::uint32_t* end) {
  const std::uint32_t begin = end[-1] + 1;
  // The cell without the blank in front of it.
  const std::uint32_t size = *end - begin - (text[begin] == ' ' ? 1 : 0);
  const __m128i over = _mm_sub_epi8(LoadVector(text + *end - NumberForm::kLook), column.text);
  if (size - column.shortest > column.span) return _mm_set1_epi8(-1);
  return _mm_and_si128(over, LoadVector(kKeepLast.data() + size));
}

// Reads one pair of columns in all lines. A line that has another number of cells is skipped; a cell in another form
// marks the line and leaves a meaningless value, which is cheaper than a branch.
inline void ReadPair(const NumberPair& pair, const NumberRows& rows) {
  const Expected a(pair.half[0]);
  const Expected b(pair.half[1]);
  const __m128i most = LoadVector(&pair.most);
  const __m128i scale = LoadVector(&pair.scale);
  const char* const text = rows.text;
  const std::uint32_t* const last_cell = rows.last_cell;
  const std::uint32_t* const cell_a = rows.cell_end + pair.half[0].position + 1;
  const std::uint32_t* const cell_b = rows.cell_end + pair.half[1].position + 1;
  std::uint8_t* const usual = rows.usual;
  std::int64_t* const values_a = rows.values[pair.half[0].signal];
  std::int64_t* const values_b = rows.values[pair.half[1].signal];
  const std::size_t lines = rows.lines;
  const std::size_t columns = rows.columns;
  for (std::size_t line = 0; line < lines; ++line) {
    const std::size_t before = last_cell[line];
    if (last_cell[line + 1] - before != columns) {
      usual[line] = 0;
      continue;
    }
    const __m128i in_a = Compare(a, text, cell_a + before);
    const __m128i in_b = Compare(b, text, cell_b + before);
    // The digits of both cells side by side. Neighbors are joined to pairs, then to fours and eights.
    const __m128i digits = _mm_unpacklo_epi64(_mm_shuffle_epi8(in_a, a.digits), _mm_shuffle_epi8(in_b, b.digits));
    const __m128i twos = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010A));
    const __m128i fours = _mm_madd_epi16(twos, _mm_set1_epi32(0x00010064));
    const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
    // A byte is wrong if it lies further above the expected one than it may; a number, if it is out of range.
    const __m128i wrong = _mm_or_si128(_mm_or_si128(_mm_subs_epu8(in_a, a.above), _mm_subs_epu8(in_b, b.above)),
                                       _mm_cmpgt_epi32(eights, most));
    if (_mm_testz_si128(wrong, wrong) == 0) usual[line] = 0;
    const __m128i values = _mm_mul_epu32(_mm_cvtepu32_epi64(eights), scale);
    values_a[line] = _mm_cvtsi128_si64(values);
    values_b[line] = _mm_extract_epi64(values, 1);
  }
}

void ReadAll(std::span<const NumberPair> pairs, const NumberRows& rows) {
  for (const NumberPair& pair : pairs) ReadPair(pair, rows);
}
// The same instructions in AVX encoding: three operands, one of them in memory.
[[gnu::target("avx2")]] void ReadAllAvx2(std::span<const NumberPair> pairs, const NumberRows& rows) {
  for (const NumberPair& pair : pairs) ReadPair(pair, rows);
}

}  // namespace

void ReadNumbers(std::span<const NumberPair> pairs, const NumberRows& rows) {
  if (pairs.empty()) return ReadNumbersPlainly(pairs, rows);  // which also checks the number of cells
  std::fill_n(rows.usual, rows.lines, std::uint8_t{1});
  static const bool kAvx2 = __builtin_cpu_supports("avx2") != 0;
  return kAvx2 ? ReadAllAvx2(pairs, rows) : ReadAll(pairs, rows);
}
#else
void ReadNumbers(std::span<const NumberPair> pairs, const NumberRows& rows) { ReadNumbersPlainly(pairs, rows); }
#endif

}  // namespace idleburn
