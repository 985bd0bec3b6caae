#include "import/delimiters.h"

#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace idleburn {
namespace {

constexpr std::size_t kStep = 64;

// Bit i: byte i of 64 is a delimiter, a line's end.
struct Found {
  std::uint64_t delimiters = 0;
  std::uint64_t line_ends = 0;
};

#if defined(__SSE2__)
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
Found LookAt(const char* p) {
  Found found;
  for (unsigned i = 0; i < kStep; ++i) {
    found.delimiters |= std::uint64_t{p[i] == ',' || p[i] == '\n'} << i;
    found.line_ends |= std::uint64_t{p[i] == '\n'} << i;
  }
  return found;
}
#endif

// Where both lists end up; they have room for kStep more than there are bytes.
struct Lists {
  std::uint32_t* cell_end;
  std::uint32_t* last_cell;
};

// The positions from Found by Found. Returns the number of lines.
template <Found (*kLookAt)(const char*)>
inline std::size_t ListAll(const char* text, std::size_t size, Lists lists) {
  std::uint32_t* cells = lists.cell_end;
  std::uint32_t* lines = lists.last_cell;
  for (std::size_t at = 0; at < size; at += kStep) {
    Found found = kLookAt(text + at);
    if (size - at < kStep) {
      const std::uint64_t inside = (std::uint64_t{1} << (size - at)) - 1;
      found.delimiters &= inside;
      found.line_ends &= inside;
    }
    const auto listed = static_cast<std::uint32_t>(cells - lists.cell_end) + 1;
    for (std::uint64_t bits = found.line_ends; bits != 0; bits &= bits - 1) {
      const std::uint64_t before = found.delimiters & ((bits & (~bits + 1)) - 1);
      *lines++ = listed + static_cast<std::uint32_t>(std::popcount(before));
    }
    // Groups of eight are written without asking how many there are: a branch on the count is guessed wrong often.
    std::uint32_t* out = cells;
    cells += std::popcount(found.delimiters);
    for (std::uint64_t bits = found.delimiters; bits != 0; out += 8) {
      constexpr std::uint64_t kLast = std::uint64_t{1} << 63;  // some bit for what is written beyond the last
      for (int i = 0; i < 8; ++i) {
        out[i] = static_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(std::countr_zero(bits | kLast));
        bits &= bits - 1;
      }
    }
  }
  return static_cast<std::size_t>(lines - lists.last_cell);
}

#if defined(__SSE2__)
[[gnu::target("avx2")]] Found LookAtAvx2(const char* p) {
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
[[gnu::target("avx2,bmi,popcnt")]] std::size_t ListAllAvx2(const char* text, std::size_t size, Lists lists) {
  return ListAll<LookAtAvx2>(text, size, lists);
}
bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0; }
#else
std::size_t ListAllAvx2(const char* text, std::size_t size, Lists lists) { return ListAll<LookAt>(text, size, lists); }
bool HasAvx2() { return false; }
#endif

}  // namespace

void Delimiters::Find(const char* text, std::size_t size) {
  // All bytes may be delimiters, and a step writes beyond the last.
  if (cell_end_.size() < size + 2 * kStep) {
    cell_end_.resize(size + 2 * kStep);
    last_cell_.resize(size + 2 * kStep);
  }
  cell_end_[0] = UINT32_MAX;
  last_cell_[0] = 0;
  static const bool kAvx2 = HasAvx2();
  const Lists lists = {cell_end_.data() + 1, last_cell_.data() + 1};
  lines_ = kAvx2 ? ListAllAvx2(text, size, lists) : ListAll<LookAt>(text, size, lists);
}

}  // namespace idleburn
