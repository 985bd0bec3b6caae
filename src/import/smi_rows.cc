#include "import/smi_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "import/units.h"
#include "telemetry/value_range.h"
#include "text/number.h"

namespace idleburn {
namespace {

unsigned Digit(char c) { return static_cast<unsigned>(c - '0'); }

std::uint64_t Load8(const char* p) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, p, sizeof bytes);
  return bytes;
}

// Trim, for cells that mostly have one blank in front.
std::string_view Bare(std::string_view cell) {
  if (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
  const bool more = !cell.empty() && (cell.front() <= ' ' || cell.back() <= ' ');
  return more ? Trim(cell) : cell;
}

constexpr std::uint64_t kZeros = 0x3030303030303030;

bool AreDigits(std::uint64_t values) {
  return (((values + 0x7676767676767676) | values) & 0x8080808080808080) == 0;
}

}  // namespace

SmiRowReader::SmiRowReader(const SmiLayout& layout, const TimeZone* zone)
    : columns_(layout.columns.size()), zone_(zone), flags_make_mask_(!layout.has_mask) {
  for (std::size_t i = 0; i < columns_; ++i) {
    const SmiColumn& column = layout.columns[i];
    switch (column.role) {
      case ColumnRole::kIgnored:
        break;
      case ColumnRole::kTime:
        time_ = i;
        break;
      case ColumnRole::kIndex:
        names_.push_back({i, &RowIdentity::index});
        break;
      case ColumnRole::kUuid:
        names_.push_back({i, &RowIdentity::uuid});
        break;
      case ColumnRole::kBusId:
        names_.push_back({i, &RowIdentity::bus_id});
        break;
      case ColumnRole::kName:
        names_.push_back({i, &RowIdentity::name});
        break;
      case ColumnRole::kValue:
        numbers_.push_back({i, column.signal, 0, 0, NumberForm()});
        number_units_.push_back(column);
        break;
      case ColumnRole::kMask:
      case ColumnRole::kFlag:
        masks_.push_back({i, column});
        break;
    }
  }
  if (numbers_.size() % 2 != 0) numbers_.push_back(numbers_.back());
}

void SmiRowReader::Begin(std::string_view text) {
  delimiters_.Find(text.data(), text.size());
  text_ = text.data();
  next_ = delimiters_.begin();
}

RowFaults SmiRowReader::TakeFaults() {
  const RowFaults faults = faults_;
  faults_ = {};
  return faults;
}

void SmiRowReader::Expect(std::size_t at, std::string_view number, const SmiColumn& unit, std::string_view suffix) {
  NumberColumn& column = numbers_[at];
  column.form = NumberForm();
  NumberForm form(number, suffix);
  constexpr std::array<std::int64_t, 4> kThousandths = {1000, 100, 10, 1};
  if (form.decimals >= kThousandths.size()) return;
  const std::int64_t scaled = kThousandths[form.decimals] * unit.multiplier;
  const std::int64_t scale = scaled / unit.divisor;
  if (scaled % unit.divisor != 0 || scale == 0 || scale > INT32_MAX) return;
  column.form = form;
  column.scale = static_cast<std::uint32_t>(scale);
  const std::int64_t most = RangeOf(Info(column.signal).unit).high / scale;
  column.most = static_cast<std::int32_t>(std::min<std::int64_t>(most, INT32_MAX));
}

bool SmiRowReader::ReadOddNumber(std::string_view cell, std::size_t at, Sample& sample) {
  const SmiColumn& bound = number_units_[at];
  cell = Trim(cell);
  const Signal signal = bound.signal;
  if (const std::optional<Unobserved> reason = WhyUnavailable(cell)) {
    ++faults_.unavailable;
    sample.SetUnavailable(signal, *reason);
    return true;
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
    return true;
  }
  SmiColumn column = bound;
  if (number.fault == NumberFault::kNotANumber || (!unit.empty() && !SetUnit(column, unit))) return false;
  std::int64_t scaled = 0;
  if (number.fault == NumberFault::kTooLarge || __builtin_mul_overflow(number.value, column.multiplier, &scaled)) {
    ++faults_.out_of_range;
    sample.SetUnavailable(signal, Unobserved::kSentinel);
    return true;
  }
  if (unit.empty() && bound.unit.empty() && signal != Signal::kTemperature) faults_.unit_assumed = true;
  Expect(at, cell.substr(0, number_end), column, cell.substr(number_end));
  if (const std::optional<std::int64_t> valid = InRange(Info(signal).unit, scaled / column.divisor)) {
    sample.Set(signal, *valid);
  } else {
    ++faults_.out_of_range;
    sample.SetUnavailable(signal, Unobserved::kSentinel);
  }
  return true;
}

bool SmiRowReader::ReadTime(std::string_view cell, Sample& sample) {
  if (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
  const char* const p = cell.data();
  if (cell.size() == 23 && std::memcmp(p, minute_text_, sizeof minute_text_) == 0) {  // ":SS.mmm" of the same minute
    const std::uint64_t rest = Load8(p + 15);  // "M:SS.mmm"
    const bool marked = (rest & 0x000000FF0000FF00) == 0x0000002E00003A00;
    const unsigned tens = Digit(p[17]);
    if (marked && tens <= 5 && AreDigits((rest ^ kZeros) & 0xFFFFFF00FFFF0000)) {
      const std::int64_t ms =
          (tens * 10 + Digit(p[18])) * 1000 + Digit(p[20]) * 100 + Digit(p[21]) * 10 + Digit(p[22]);
      sample.time = Instant::FromNanos(minute_ns_ + ms * 1'000'000);
      return true;
    }
  }
  const std::string_view whole = Trim(cell);
  std::string_view rest = whole;
  CivilTime civil;
  bool zoned = false;
  if (!TakeCivilTime(rest, &civil, &zoned) || !rest.empty()) return false;
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
    if (ambiguous) return true;
  }
  if (!zoned && whole.size() == 23) {
    std::memcpy(minute_text_, whole.data(), sizeof minute_text_);
    minute_ns_ = sample.time.nanos() - civil.second * kNanosPerSecond - civil.nanos;
  }
  return true;
}

bool SmiRowReader::ReadMask(std::string_view cell, const MaskPart& part, Sample& sample) {
  if (part.column.role == ColumnRole::kFlag) return ReadFlag(Bare(cell), part, sample);
  cell = Bare(cell);
  const Signal signal = part.column.signal;
  const std::optional<std::uint64_t> mask = ParseMask(cell);
  if (!mask) {
    const std::optional<Unobserved> reason = WhyUnavailable(cell);
    if (!reason) return false;
    ++faults_.unavailable;
    sample.SetUnavailable(signal, *reason);
    return true;
  }
  sample.Set(signal, static_cast<std::int64_t>(*mask & INT64_MAX));
  return true;
}

bool SmiRowReader::ReadFlag(std::string_view cell, const MaskPart& flag, Sample& sample) const {
  if (!flags_make_mask_) return true;
  if (cell == "Active" || cell == "Not Active") {
    const std::int64_t so_far = sample.Has(Signal::kEventReasons) ? sample.Get(Signal::kEventReasons) : 0;
    const std::int64_t bit = cell == "Active" ? std::int64_t{1} << flag.column.flag_bit : 0;
    sample.Set(Signal::kEventReasons, so_far | bit);
    return true;
  }
  return WhyUnavailable(cell).has_value();
}

std::string_view SmiRowReader::Cell(std::size_t position) const {
  const std::uint32_t begin = (next_ + position)[-1] + 1;
  return {text_ + begin, next_[position] - begin};
}

bool SmiRowReader::ReadNumber(std::size_t at, Sample& sample) {
  const std::array<NumberColumn, 2> twice = {numbers_[at], numbers_[at]};
  const std::uint32_t before = sample.present;
  const bool usual = ReadNumbers(twice, text_, next_, sample);
  sample.present |= before;
  return usual || ReadOddNumber(Cell(numbers_[at].position), at, sample);
}

bool SmiRowReader::ReadCells(Sample& sample, RowIdentity& identity) {
  if (time_ && !ReadTime(Cell(*time_), sample)) return false;
  for (const NamePart& name : names_) identity.*name.part = Bare(Cell(name.position));
  if (!ReadNumbers(numbers_, text_, next_, sample)) {
    for (std::size_t i = 0; i < number_units_.size(); ++i) {
      if (!ReadNumber(i, sample)) return false;
    }
    if (numbers_.size() > number_units_.size()) numbers_.back() = numbers_[number_units_.size() - 1];
  }
  for (const MaskPart& mask : masks_) {
    if (!ReadMask(Cell(mask.position), mask, sample)) return false;
  }
  return true;
}

SmiRowReader::Outcome SmiRowReader::Next(Sample& sample, RowIdentity& identity, std::string_view* line) {
  sample.unavailable = 0;
  std::uint32_t* last = next_;  // where the line ends
  while (text_[*last] != '\n') ++last;
  const std::uint32_t begin = next_[-1] + 1;
  const std::uint32_t end = *last;
  *line = {text_ + begin, end - begin};
  bool good = static_cast<std::size_t>(last - next_) + 1 == columns_;
  if (good) {
    if (end > begin && text_[end - 1] == '\r') --*last;  // of the last cell
    good = ReadCells(sample, identity);
    *last = end;
  }
  next_ = last + 1;
  if (good) return Outcome::kRow;
  return Trim(*line).empty() ? Outcome::kBlank : Outcome::kBad;
}

}  // namespace idleburn
