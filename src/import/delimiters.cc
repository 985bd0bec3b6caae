#include "import/delimiters.h"

#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
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

// Room for what one step may add.
void Reserve(std::vector<std::uint32_t>& list, std::size_t used) {
  if (list.size() < used + 2 * kStep) list.resize(2 * (used + 2 * kStep));
}

}  // namespace

void Delimiters::Find(const char* text, std::size_t size) {
  std::size_t cells = 1;
  lines_ = 0;
  Reserve(cell_end_, 0);
  Reserve(last_cell_, 0);
  cell_end_[0] = UINT32_MAX;
  last_cell_[0] = 0;
  for (std::size_t at = 0; at < size; at += kStep) {
    Found found = LookAt(text + at);
    if (size - at < kStep) {
      const std::uint64_t inside = (std::uint64_t{1} << (size - at)) - 1;
      found.delimiters &= inside;
      found.line_ends &= inside;
    }
    Reserve(last_cell_, lines_);
    for (std::uint64_t bits = found.line_ends; bits != 0; bits &= bits - 1) {
      const std::uint64_t before = found.delimiters & ((bits & (~bits + 1)) - 1);
      last_cell_[++lines_] = static_cast<std::uint32_t>(cells) + static_cast<std::uint32_t>(std::popcount(before));
    }
    // Groups of eight are written without asking how many there are: a branch on the count is guessed wrong often.
    Reserve(cell_end_, cells);
    std::uint32_t* out = cell_end_.data() + cells;
    cells += static_cast<std::size_t>(std::popcount(found.delimiters));
    for (std::uint64_t bits = found.delimiters; bits != 0; out += 8) {
      constexpr std::uint64_t kLast = std::uint64_t{1} << 63;  // some bit for what is written beyond the last
      for (int i = 0; i < 8; ++i) {
        out[i] = static_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(std::countr_zero(bits | kLast));
        bits &= bits - 1;
      }
    }
  }
}

}  // namespace idleburn
