#include "import/number_cells.h"

#include <algorithm>

#if defined(__SSE4_1__)
#include <smmintrin.h>
#endif

namespace idleburn {

NumberForm::NumberForm(std::string_view number, std::string_view suffix) {
  const std::size_t dot = std::min(number.find('.'), number.size());
  decimals = dot < number.size() ? number.size() - dot - 1 : 0;
  const std::size_t point = decimals > 0 ? 1 : 0;
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
    return Half{c.form.expected, c.form.above, c.form.digits,   c.form.shortest,
                c.form.span,     c.position,   Index(c.signal)};
  };
  half = {half_of(a), half_of(b)};
}

bool ReadNumbersPlainly(std::span<const NumberPair> pairs, const char* text, const std::uint32_t* ends,
                        Sample& sample) {
  constexpr std::size_t kLook = NumberForm::kLook;
  for (const NumberPair& pair : pairs) {
    for (std::size_t i = 0; i < pair.half.size(); ++i) {
      const NumberPair::Half& column = pair.half[i];
      const std::uint32_t end = ends[column.position];
      std::uint32_t begin = (ends + column.position)[-1] + 1;
      if (text[begin] == ' ') ++begin;
      const std::size_t size = end - begin;
      if (size - column.shortest > column.span) return false;  // wraps where the cell is too short
      std::uint32_t number = 0;
      for (std::size_t at = kLook - size; at < kLook; ++at) {
        const auto over = static_cast<std::uint8_t>(text[end - kLook + at] - column.expected[at]);
        if (over > column.above[at]) return false;
        if (column.above[at] > 0) number = number * 10 + over;
      }
      if (number > static_cast<std::uint32_t>(pair.most[i])) return false;
      sample.value[column.slot] = static_cast<std::int64_t>(number * pair.scale[i]);
    }
  }
  return true;
}

#if defined(__SSE4_1__)
namespace {

__m128i Load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }

// Bytes of a vector of which the last n are to be kept.
constexpr std::array<std::uint8_t, 2 * NumberForm::kLook> kKeepLast = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

// A cell as sixteen bytes: each character less what its form expects there, 0 before the cell. Digits give their
// values, all else must give 0. False if the cell is too short or too long.
inline bool Compare(const NumberPair::Half& column, const char* text, const std::uint32_t* ends, __m128i* values) {
  const std::uint32_t* const end = ends + column.position;
  const std::uint32_t begin = end[-1] + 1;
  const std::size_t size = std::size_t{*end} - begin - (text[begin] == ' ' ? 1 : 0);
  if (size - column.shortest > column.span) return false;
  const __m128i over = _mm_sub_epi8(Load(text + *end - NumberForm::kLook), Load(&column.expected));
  *values = _mm_and_si128(over, Load(kKeepLast.data() + size));
  return true;
}

}  // namespace

bool ReadNumbers(std::span<const NumberPair> pairs, const char* text, const std::uint32_t* ends, Sample& sample) {
  __m128i wrong = _mm_setzero_si128();
  for (const NumberPair& pair : pairs) {
    const NumberPair::Half& a = pair.half[0];
    const NumberPair::Half& b = pair.half[1];
    __m128i in_a;
    __m128i in_b;
    if (!Compare(a, text, ends, &in_a) || !Compare(b, text, ends, &in_b)) return false;
    wrong = _mm_or_si128(wrong, _mm_or_si128(_mm_subs_epu8(in_a, Load(&a.above)), _mm_subs_epu8(in_b, Load(&b.above))));
    // The digits of two cells side by side; then neighbours are joined to pairs, fours and eights.
    const __m128i digits =
        _mm_unpacklo_epi64(_mm_shuffle_epi8(in_a, Load(&a.digits)), _mm_shuffle_epi8(in_b, Load(&b.digits)));
    const __m128i twos = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010A));
    const __m128i fours = _mm_madd_epi16(twos, _mm_set1_epi32(0x00010064));
    const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
    wrong = _mm_or_si128(wrong, _mm_cmpgt_epi32(eights, Load(&pair.most)));
    const __m128i values = _mm_mul_epu32(_mm_cvtepu32_epi64(eights), Load(&pair.scale));
    sample.value[a.slot] = _mm_cvtsi128_si64(values);
    sample.value[b.slot] = _mm_extract_epi64(values, 1);
  }
  return _mm_testz_si128(wrong, wrong) != 0;
}
#else
bool ReadNumbers(std::span<const NumberPair> pairs, const char* text, const std::uint32_t* ends, Sample& sample) {
  return ReadNumbersPlainly(pairs, text, ends, sample);
}
#endif

}  // namespace idleburn
