#include "import/delimiters.h"

#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace idleburn {
namespace {

constexpr std::size_t kStep = 64;

// Bit i: byte i of the 64 at `p` is a delimiter.
#if defined(__SSE2__)
std::uint64_t DelimiterBits(const char* p) {
  const __m128i comma = _mm_set1_epi8(',');
  const __m128i newline = _mm_set1_epi8('\n');
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * std::size_t{i}));
    const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, comma), _mm_cmpeq_epi8(bytes, newline));
    bits |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(found))} << (16 * i);
  }
  return bits;
}
#else
std::uint64_t DelimiterBits(const char* p) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < kStep; ++i) bits |= std::uint64_t{p[i] == ',' || p[i] == '\n'} << i;
  return bits;
}
#endif

}  // namespace

void Delimiters::Find(const char* text, std::size_t size) {
  count_ = 0;
  for (std::size_t at = 0; at < size; at += kStep) {
    std::uint64_t bits = DelimiterBits(text + at);
    if (size - at < kStep) bits &= (std::uint64_t{1} << (size - at)) - 1;
    // Groups of eight are written without asking how many there are: a branch on the count is guessed wrong often.
    if (positions_.size() < count_ + 2 * kStep) positions_.resize(2 * (count_ + 2 * kStep));
    std::uint32_t* out = end();
    count_ += static_cast<std::size_t>(std::popcount(bits));
    while (bits != 0) {
      for (int i = 0; i < 8; ++i) {
        constexpr std::uint64_t kLast = std::uint64_t{1} << 63;  // some bit for what is written beyond the last
        out[i] = static_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(std::countr_zero(bits | kLast));
        bits &= bits - 1;
      }
      out += 8;
    }
  }
}

}  // namespace idleburn
