#include "bill/bill_value.h"

#include <algorithm>
#include <array>

#include "base/money.h"
#include "os/input_file.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

// "12.5" and "-0.25" within nine decimals, which nearly all cells are. False for any other text.
bool TakePlainNumber(std::string_view text, std::int64_t* nano) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view decimals = point < text.size() ? text.substr(point + 1) : std::string_view();
  if (point == 0 || point > 9 || decimals.size() > 9 || (point < text.size() && decimals.empty())) return false;
  std::int64_t value = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == point) continue;
    if (!IsDigit(text[i])) return false;
    value = value * 10 + (text[i] - '0');
  }
  for (std::size_t i = decimals.size(); i < 9; ++i) value *= 10;
  *nano = negative ? -value : value;
  return true;
}

// Whether the text has the form that FOCUS allows: -1.5, 35.2E-7, 35.2E7.
bool IsFocusNumber(std::string_view text) {
  std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return at > from;
  };
  if (!digits()) return false;
  if (at < text.size() && text[at] == '.' && (++at, !digits())) return false;
  if (at < text.size() && (text[at] == 'E' || text[at] == 'e')) {
    ++at;
    if (at < text.size() && text[at] == '-') ++at;
    if (!digits()) return false;
  }
  return at == text.size();
}

// Reads one flat JSON object by hand: a document library would cost more than the row around it.
class KeyValueReader {
 public:
  explicit KeyValueReader(std::string_view text) : text_(text) {}

  KeyValues Read() {
    KeyValues read;
    read.flat = true;
    bool good = Take('{');
    if (good && !Take('}')) {
      do {
        std::pair<std::string, std::string> pair;
        good = TakeString(&pair.first) && Take(':') && TakeValue(&pair.second, &read.flat);
        if (good) read.pairs.push_back(std::move(pair));
      } while (good && Take(','));
      good = good && Take('}');
    }
    SkipBlanks();
    read.known = good && at_ == text_.size();
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : read.pairs) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    read.unique_keys = std::adjacent_find(keys.begin(), keys.end()) == keys.end();
    return read;
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool Take(char c) {
    SkipBlanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeString(std::string* out) {
    if (!Take('"')) return false;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\') {
        if (at_ >= text_.size()) return false;
        c = text_[at_++];
        if (c == 'u') {
          if (!TakeCodePoint(out)) return false;
          continue;
        }
        constexpr std::string_view kCodes = "nrtbf";
        constexpr std::string_view kMeant = "\n\r\t\b\f";
        if (const std::size_t code = kCodes.find(c); code != std::string_view::npos) c = kMeant[code];
      }
      *out += c;
    }
    return at_ < text_.size() && text_[at_++] == '"';
  }
  bool TakeFour(std::uint32_t* value) {
    if (text_.size() - at_ < 4) return false;
    const auto mask = ParseMask("0x" + std::string(text_.substr(at_, 4)));
    at_ += 4;
    *value = static_cast<std::uint32_t>(mask.value_or(0));
    return mask.has_value();
  }
  bool TakeCodePoint(std::string* out) {
    std::uint32_t point = 0;
    if (!TakeFour(&point)) return false;
    std::uint32_t low = 0;
    if (point >= 0xD800 && point < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      if (!TakeFour(&low)) return false;
      point = 0x10000 + ((point - 0xD800) << 10) + ((low - 0xDC00) & 0x3FF);
    }
    AppendUtf8(*out, point >= 0xD800 && point < 0xE000 ? 0xFFFD : point);
    return true;
  }
  // A value. One that is no scalar is passed over and clears *flat.
  bool TakeValue(std::string* out, bool* flat) {
    SkipBlanks();
    if (at_ >= text_.size()) return false;
    if (text_[at_] == '"') return TakeString(out);
    if (text_[at_] == '{' || text_[at_] == '[') {
      *flat = false;
      return PassNested();
    }
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}' && text_[at_] != ' ') ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    if (word != "true" && word != "false" && word != "null" && !ParseBillNumber(word).known) return false;
    if (word != "null") out->assign(word);
    return true;
  }
  bool PassNested() {
    int depth = 0;
    do {
      if (at_ >= text_.size()) return false;
      const char c = text_[at_];
      std::string dropped;
      if (c == '"') {
        if (!TakeString(&dropped)) return false;
        continue;
      }
      depth += (c == '{' || c == '[' ? 1 : 0) - (c == '}' || c == ']' ? 1 : 0);
      ++at_;
    } while (depth > 0);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

BillNumber ParseBillNumber(std::string_view text) {
  BillNumber number;
  if (TakePlainNumber(text, &number.nano)) {
    number.known = number.well = true;
    return number;
  }
  std::string lenient(Trim(text));
  number.well = IsFocusNumber(text);
  if (lenient.starts_with('+')) lenient.erase(0, 1);
  if (const std::size_t plus = lenient.find_first_of("eE"); plus != std::string::npos && plus + 1 < lenient.size()) {
    if (lenient[plus + 1] == '+') lenient.erase(plus + 1, 1);
  }
  // "1,000.00" and not "1,00": only groups of three are certainly thousands.
  const std::size_t whole = std::min(lenient.find('.'), lenient.size());
  if (lenient.find(',') < whole) {
    std::size_t since = 0;
    bool grouped = true;
    for (std::size_t i = whole; i-- > 0;) {
      if (lenient[i] == ',') {
        grouped = grouped && since == 3;
        since = 0;
      } else {
        ++since;
      }
    }
    if (!grouped || since > 3 || lenient.find('.') == std::string::npos) return number;
    lenient.erase(std::remove(lenient.begin(), lenient.end(), ','), lenient.end());
  }
  if (!IsFocusNumber(lenient)) return number;
  const Result<Money> money = Money::ParseRounding(PlainDecimal(lenient), &number.rounded);
  if (!money) return number;
  number.nano = money->nano();
  number.known = true;
  return number;
}

BillTime ParseBillTime(std::string_view text) {
  BillTime read;
  std::string_view rest = text;
  CivilTime civil;
  bool zoned = false;
  // A day alone is its start.
  const std::string day = text.size() == 10 ? std::string(text) + "T00:00:00" : std::string();
  if (!day.empty()) rest = day;
  if (!TakeCivilTime(rest, &civil, &zoned)) return read;
  if (rest == " UTC" || rest == " GMT") {
    rest = {};
    zoned = true;
  }
  // Beyond these years nothing was billed, and spans would not fit.
  if (!rest.empty() || civil.year < 1971 || civil.year > 2199) return read;
  read.time = InUtc(civil);
  read.known = true;
  read.well = text.size() == 20 && text[4] == '-' && text[10] == 'T' && text[19] == 'Z';
  read.zoned = zoned;
  return read;
}

std::string_view KeyValues::Of(std::string_view key) const {
  for (const auto& [name, value] : pairs) {
    if (EqualsIgnoreCase(name, key)) return value;
  }
  return {};
}

KeyValues ParseKeyValues(std::string_view text) { return KeyValueReader(text).Read(); }

bool MeansNull(std::string_view text) {
  constexpr std::array<std::string_view, 5> kWords = {"null", "(null)", "n/a", "nan", "\\n"};
  if (text.empty() || text.size() > 6) return false;
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view w) { return EqualsIgnoreCase(text, w); });
}

}  // namespace idleburn
