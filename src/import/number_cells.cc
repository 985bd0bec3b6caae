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

bool ReadNumbersPlainly(std::span<const NumberColumn> columns, const char* text, const std::uint32_t* ends,
                        Sample& sample) {
  constexpr std::size_t kLook = NumberForm::kLook;
  sample.present = 0;
  std::uint32_t present = 0;
  for (const NumberColumn& column : columns) {
    const NumberForm& form = column.form;
    const std::uint32_t end = ends[column.position];
    std::uint32_t begin = (ends + column.position)[-1] + 1;
    if (text[begin] == ' ') ++begin;
    const std::size_t size = end - begin;
    if (size - form.shortest > form.span) return false;  // wraps where the cell is too short
    std::uint32_t number = 0;
    for (std::size_t at = kLook - size; at < kLook; ++at) {
      const auto over = static_cast<std::uint8_t>(text[end - kLook + at] - form.expected[at]);
      if (over > form.above[at]) return false;
      if (form.above[at] > 0) number = number * 10 + over;
    }
    if (number > static_cast<std::uint32_t>(column.most)) return false;
    sample.value[Index(column.signal)] = std::int64_t{number} * column.scale;
    present |= Bit(column.signal);
  }
  sample.present = present;
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
// values, all else must give 0; what is more goes to *wrong. Returns the eight digits.
inline __m128i Digits(const NumberColumn& column, const char* text, const std::uint32_t* ends, __m128i* wrong) {
  const NumberForm& form = column.form;
  const std::size_t end = ends[column.position];
  const std::uint32_t start = (ends + column.position)[-1] + 1;
  const char* const begin = text + start;
  const auto size = static_cast<std::size_t>(text + end - begin - (*begin == ' ' ? 1 : 0));
  const bool fits = size - form.shortest <= form.span;
  const __m128i keep = Load(kKeepLast.data() + (fits ? size : 0));
  const __m128i values = _mm_and_si128(_mm_sub_epi8(Load(text + end - NumberForm::kLook), Load(&form.expected)), keep);
  *wrong = _mm_or_si128(*wrong, _mm_subs_epu8(values, Load(&form.above)));
  *wrong = _mm_or_si128(*wrong, _mm_cvtsi32_si128(fits ? 0 : 1));
  return _mm_shuffle_epi8(values, Load(&form.digits));
}

}  // namespace

bool ReadNumbers(std::span<const NumberColumn> columns, const char* text, const std::uint32_t* ends, Sample& sample) {
  __m128i wrong = _mm_setzero_si128();
  std::uint32_t present = 0;
  for (std::size_t i = 0; i + 1 < columns.size(); i += 2) {
    const NumberColumn& a = columns[i];
    const NumberColumn& b = columns[i + 1];
    // The digits of two cells side by side; then neighbours are joined to pairs, fours and eights.
    const __m128i digits = _mm_unpacklo_epi64(Digits(a, text, ends, &wrong), Digits(b, text, ends, &wrong));
    const __m128i pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010A));
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00010064));
    const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
    const __m128i most = _mm_setr_epi32(a.most, b.most, INT32_MAX, INT32_MAX);
    wrong = _mm_or_si128(wrong, _mm_cmpgt_epi32(eights, most));
    const __m128i scale = _mm_setr_epi32(static_cast<int>(a.scale), 0, static_cast<int>(b.scale), 0);
    const __m128i values = _mm_mul_epu32(_mm_cvtepu32_epi64(eights), scale);
    sample.value[Index(a.signal)] = _mm_cvtsi128_si64(values);
    sample.value[Index(b.signal)] = _mm_extract_epi64(values, 1);
    present |= Bit(a.signal) | Bit(b.signal);
  }
  const bool usual = _mm_testz_si128(wrong, wrong) != 0;
  sample.present = usual ? present : 0;
  return usual;
}
#else
bool ReadNumbers(std::span<const NumberColumn> columns, const char* text, const std::uint32_t* ends, Sample& sample) {
  return ReadNumbersPlainly(columns, text, ends, sample);
}
#endif

}  // namespace idleburn
