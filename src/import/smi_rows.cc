#include "import/smi_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "import/units.h"
#include "telemetry/value_range.h"
#include "text/number.h"

namespace idleburn {
namespace {

unsigned Digit(char c) { return static_cast<unsigned>(c - '0'); }

// The end of the cell at `p`: its comma or line end.
const char* CellEnd(const char* p) {
  while (*p != ',' && *p != '\n') ++p;
  return p;
}

std::string_view CellText(const char* p, const char* end) {
  return Trim(std::string_view(p, static_cast<std::size_t>(end - p)));
}

std::uint64_t Load8(const char* p) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, p, sizeof bytes);
  return bytes;
}

// Eight characters at once, without a branch per digit: how many of the first are digits (x86 and Arm order bytes so
// that the first character is the lowest).
struct EightCharacters {
  explicit EightCharacters(const char* p) : digits(Load8(p) ^ 0x3030303030303030) {
    const std::uint64_t others = ((digits + 0x7676767676767676) | digits) & 0x8080808080808080;
    count = others == 0 ? 8 : static_cast<unsigned>(std::countr_zero(others)) / 8;
  }
  // The number that the first `count` characters write; count from 1 to 8.
  [[nodiscard]] std::int64_t Number() const {
    std::uint64_t v = digits << (64 - 8 * count);
    v = (v * 2561) >> 8;                             // pairs: 10 a + b
    v = ((v & 0x00FF00FF00FF00FF) * 6553601) >> 16;  // 100 a + b
    v = ((v & 0x0000FFFF0000FFFF) * 42949672960001) >> 32;
    return static_cast<std::int64_t>(v);
  }
  std::uint64_t digits;
  unsigned count;
};

// The usual cell: up to seven digits, perhaps a few decimals, and the unit seen before. Returns its end and the value
// in the signal's unit, or nullptr: then it is read the slow way.
template <typename Field>
const char* PlainValue(const char* p, const Field& field, std::int64_t* out) {
  const EightCharacters whole(p);
  if (whole.count - 1 > 6) return nullptr;  // none, or eight and perhaps more
  std::int64_t value = whole.Number() * field.whole;
  p += whole.count;
  if (*p == '.') {
    constexpr std::array<std::int64_t, 4> kThousandths = {0, 100, 10, 1};
    const EightCharacters part(p + 1);
    if (part.count - 1 > 2) return nullptr;
    const std::int64_t scaled = part.Number() * kThousandths[part.count] * field.multiplier;
    value += field.divisor == 1 ? scaled : scaled / field.divisor;
    p += 1 + part.count;
  }
  if ((Load8(p) & field.suffix_mask) != field.suffix_word) return nullptr;
  p += field.suffix_length;
  if (*p != ',' && *p != '\n' && *p != '\r') return nullptr;
  if (value > field.most) return nullptr;
  *out = value;
  return p;
}

}  // namespace

SmiRowReader::Field::Field(const SmiColumn& bound) : role(bound.role), signal(bound.signal), column(bound) {
  most = RangeOf(Info(signal).unit).high;
  Scale(bound);
}

void SmiRowReader::Field::Scale(const SmiColumn& unit) {
  multiplier = unit.multiplier;
  divisor = unit.divisor;
  whole = multiplier * 1000 / divisor;
}

void SmiRowReader::Field::ExpectSuffix(std::string_view text) {
  suffix_word = 1;
  suffix_mask = 0;
  suffix_length = text.size();
  if (text.size() > sizeof suffix_word) return;
  suffix_word = 0;
  std::memcpy(&suffix_word, text.data(), text.size());
  for (std::size_t i = 0; i < text.size(); ++i) suffix_mask |= std::uint64_t{0xFF} << (8 * i);
}

SmiRowReader::SmiRowReader(const SmiLayout& layout, const TimeZone* zone)
    : zone_(zone), flags_make_mask_(!layout.has_mask) {
  for (const SmiColumn& column : layout.columns) fields_.emplace_back(column);
}

RowFaults SmiRowReader::TakeFaults() {
  const RowFaults faults = faults_;
  faults_ = {};
  return faults;
}

const char* SmiRowReader::ReadOddValue(const char* p, Field& field, Sample& sample) {
  const char* end = CellEnd(p);
  std::string_view cell = CellText(p, end);
  const Signal signal = field.signal;
  if (const std::optional<Unobserved> reason = WhyUnavailable(cell)) {
    ++faults_.unavailable;
    sample.SetUnavailable(signal, *reason);
    return end;
  }
  const std::size_t blank = cell.find(' ');
  const std::size_t number_end = blank != std::string_view::npos            ? blank
                                 : cell.find('%') != std::string_view::npos ? cell.find('%')
                                                                            : cell.size();
  const std::string_view unit = Trim(cell.substr(number_end));
  const ScaledNumber number = ParseScaled(cell.substr(0, number_end), 3);
  if (number.fault == NumberFault::kNotFinite) {
    ++faults_.not_finite;
    sample.SetUnavailable(signal, Unobserved::kSentinel);
    return end;
  }
  SmiColumn column = field.column;
  if (number.fault == NumberFault::kNotANumber || (!unit.empty() && !SetUnit(column, unit))) return nullptr;
  std::int64_t scaled = 0;
  if (number.fault == NumberFault::kTooLarge || __builtin_mul_overflow(number.value, column.multiplier, &scaled)) {
    ++faults_.out_of_range;
    sample.SetUnavailable(signal, Unobserved::kSentinel);
    return end;
  }
  if (unit.empty() && field.column.unit.empty() && signal != Signal::kTemperature) faults_.unit_assumed = true;
  field.Scale(column);
  field.ExpectSuffix(cell.substr(number_end));
  if (const std::optional<std::int64_t> valid = InRange(Info(signal).unit, scaled / column.divisor)) {
    sample.Set(signal, *valid);
  } else {
    ++faults_.out_of_range;
    sample.SetUnavailable(signal, Unobserved::kSentinel);
  }
  return end;
}

const char* SmiRowReader::ReadTime(const char* p, Sample& sample) {
  while (*p == ' ') ++p;
  if (std::memcmp(p, minute_text_, sizeof minute_text_) == 0 && p[16] == ':' && p[19] == '.' && Digit(p[17]) <= 5 &&
      Digit(p[18]) <= 9 && Digit(p[20]) <= 9 && Digit(p[21]) <= 9 && Digit(p[22]) <= 9 &&
      (p[23] == ',' || p[23] == '\n' || p[23] == '\r')) {
    const std::int64_t ms =
        (Digit(p[17]) * 10 + Digit(p[18])) * 1000 + Digit(p[20]) * 100 + Digit(p[21]) * 10 + Digit(p[22]);
    sample.time = Instant::FromNanos(minute_ns_ + ms * 1'000'000);
    return p + 23;
  }
  const char* end = CellEnd(p);
  std::string_view rest = CellText(p, end);
  const std::string_view whole = rest;
  CivilTime civil;
  bool zoned = false;
  if (!TakeCivilTime(rest, &civil, &zoned) || !rest.empty()) return nullptr;
  if (zoned || zone_ == nullptr) {
    sample.time = InUtc(civil);
  } else {
    bool ambiguous = false;
    sample.time = zone_->ToInstant(civil, &ambiguous);
    faults_.zone_ambiguous += ambiguous ? 1 : 0;
    // The hour that the end of daylight saving repeats: time does not go back, so this is its second pass.
    constexpr Nanos kHour{kNanosPerHour};
    if (ambiguous && last_time_ - sample.time > kHour / 2) sample.time = sample.time + kHour;
    last_time_ = sample.time;
    if (ambiguous) return end;
  }
  if (!zoned && whole.size() == 23) {
    std::memcpy(minute_text_, whole.data(), sizeof minute_text_);
    minute_ns_ = sample.time.nanos() - civil.second * kNanosPerSecond - civil.nanos;
  }
  return end;
}

const char* SmiRowReader::ReadMask(const char* p, const Field& field, Sample& sample) {
  while (*p == ' ') ++p;
  if (std::memcmp(p, "0x000000000000", 14) == 0) {  // the usual sixteen digits, low byte last
    const auto hex = [](char c) {
      return Digit(c) <= 9          ? static_cast<int>(Digit(c))
             : c >= 'a' && c <= 'f' ? c - 'a' + 10
             : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                    : -1;
    };
    std::int64_t mask = 0;
    bool good = true;
    for (int i = 14; i < 18; ++i) {
      const int digit = hex(p[i]);
      good = good && digit >= 0;
      mask = mask * 16 + digit;
    }
    if (good && (p[18] == ',' || p[18] == '\n' || p[18] == '\r')) {
      sample.Set(field.column.signal, mask);
      return p + 18;
    }
  }
  const char* end = CellEnd(p);
  const std::string_view cell = CellText(p, end);
  if (const std::optional<Unobserved> reason = WhyUnavailable(cell)) {
    ++faults_.unavailable;
    sample.SetUnavailable(field.column.signal, *reason);
    return end;
  }
  const std::optional<std::uint64_t> mask = ParseMask(cell);
  if (!mask) return nullptr;
  sample.Set(field.column.signal, static_cast<std::int64_t>(*mask & INT64_MAX));
  return end;
}

bool SmiRowReader::ReadFlag(std::string_view cell, const Field& field, Sample& sample) {
  if (cell == "Active" || cell == "Not Active") {
    const std::int64_t so_far = sample.Has(Signal::kEventReasons) ? sample.Get(Signal::kEventReasons) : 0;
    const std::int64_t bit = cell == "Active" ? std::int64_t{1} << field.column.flag_bit : 0;
    sample.Set(Signal::kEventReasons, so_far | bit);
    return true;
  }
  return WhyUnavailable(cell).has_value();
}

SmiRowReader::Outcome SmiRowReader::Read(const char* p, Sample& sample, RowIdentity& identity, const char** next) {
  sample.present = 0;
  sample.unavailable = 0;
  const char* line = p;
  bool good = true;
  std::int64_t value = 0;
  std::size_t column = 0;
  for (; column < fields_.size(); ++column) {
    Field& field = fields_[column];
    const char* end = nullptr;
    switch (field.role) {
      case ColumnRole::kValue:
        if (*p == ' ') ++p;
        end = PlainValue(p, field, &value);
        if (end != nullptr) {
          sample.Set(field.signal, value);
        } else {
          end = ReadOddValue(p, field, sample);
        }
        break;
      case ColumnRole::kTime:
        end = ReadTime(p, sample);
        break;
      case ColumnRole::kMask:
        end = ReadMask(p, field, sample);
        break;
      case ColumnRole::kIgnored:
        end = CellEnd(p);
        break;
      case ColumnRole::kFlag:
        end = CellEnd(p);
        if (flags_make_mask_ && !ReadFlag(CellText(p, end), field, sample)) end = nullptr;
        break;
      case ColumnRole::kIndex:
        identity.index = CellText(p, end = CellEnd(p));
        break;
      case ColumnRole::kUuid:
        identity.uuid = CellText(p, end = CellEnd(p));
        break;
      case ColumnRole::kBusId:
        identity.bus_id = CellText(p, end = CellEnd(p));
        break;
      case ColumnRole::kName:
        identity.name = CellText(p, end = CellEnd(p));
        break;
    }
    if (end != nullptr && *end == '\r' && end[1] == '\n') ++end;
    if (end == nullptr || (*end == '\n') != (column + 1 == fields_.size())) {
      good = false;
      p = end != nullptr ? end : p;
      break;
    }
    p = end + 1;
  }
  if (good) {
    *next = p;
    return Outcome::kRow;
  }
  const char* end = p;
  while (*end != '\n') ++end;
  *next = end + 1;
  return Trim(std::string_view(line, static_cast<std::size_t>(end - line))).empty() ? Outcome::kBlank : Outcome::kBad;
}

}  // namespace idleburn
