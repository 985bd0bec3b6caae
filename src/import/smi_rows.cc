#include "import/smi_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "import/printed_values.h"
#include "telemetry/sample.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// A block of lines is read in two passes. Begin finds all cell ends and reads all numbers, column by column, since a
// column repeats one form in all rows. ReadUsualRows then walks over the lines and adds time, device and mask. It stops
// at a line that is unusual in any way, which Next reads cell by cell. Next also learns: the form of a number, the
// minute of a stamp.

namespace {

std::uint64_t Load8(const char* p) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, p, sizeof bytes);
  return bytes;
}

// Trim, optimized for cells that mostly have one blank in front.
inline std::string_view Bare(std::string_view cell) {
  if (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
  return !cell.empty() && (cell.front() <= ' ' || cell.back() <= ' ') ? Trim(cell) : cell;
}

// The milliseconds in "x:SS.mmm", from all eight characters at once, without a branch per digit. On x86 and Arm the
// first character is the lowest byte. False if the text does not have that form. For example, ":07.250" behind any
// character gives 7250.
inline bool MillisOfMinute(const char* p, std::int64_t* ms) {
  const std::uint64_t over = (Load8(p) ^ 0x3030302E30303A00) & ~std::uint64_t{0xFF};
  // Digits must be at most 9, tens of seconds at most 5, and separators must agree; else the top bit of a byte is set.
  if (((over | (over + 0x7676767F767A7F00)) & 0x8080808080808080) != 0) return false;
  // Neighbors are joined to pairs of 16 bits: the seconds, then (0, m) and (m, m) of the milliseconds.
  const std::uint64_t pairs = ((over * 2561) >> 8) & 0x00FF00FF00FF0000;
  *ms = static_cast<std::int64_t>((pairs * (1 + (std::uint64_t{100} << 16) + (std::uint64_t{1000} << 32))) >> 48);
  return true;
}

}  // namespace

// Sorts the columns by what reading them takes: the time, identities, numbers, masks.
SmiRowReader::SmiRowReader(const SmiLayout& layout, const TimeZone* zone)
    : columns_(layout.columns.size()), zone_(zone) {
  for (std::size_t i = 0; i < columns_; ++i) {
    const SmiColumn& column = layout.columns[i];
    switch (column.role) {
      case SmiRole::kIgnored:
      case SmiRole::kLinkGeneration:
      case SmiRole::kLinkMostGeneration:
      case SmiRole::kLinkWidth:
      case SmiRole::kLinkMostWidth:
        break;
      case SmiRole::kTime:
        time_ = i;
        break;
      case SmiRole::kIndex:
        names_.push_back({i, &RowIdentity::index});
        break;
      case SmiRole::kUuid:
        names_.push_back({i, &RowIdentity::uuid});
        break;
      case SmiRole::kBusId:
        names_.push_back({i, &RowIdentity::bus_id});
        break;
      case SmiRole::kName:
        names_.push_back({i, &RowIdentity::name});
        break;
      case SmiRole::kValue:
        numbers_.push_back({i, column.signal, 0, 0, NumberForm()});
        number_units_.push_back(column);
        break;
      case SmiRole::kMask:
      case SmiRole::kFlag:
        masks_.push_back({i, column});
        break;
    }
  }
  for (const NumberColumn& number : numbers_) present_ |= Bit(number.signal);
  if (!masks_.empty()) present_ |= Bit(Signal::kEventReasons);
  PairNumbers();
}

// Rebuilds the pairs after a form has changed.
void SmiRowReader::PairNumbers() {
  pairs_.clear();
  for (std::size_t i = 0; i < numbers_.size(); i += 2) {
    pairs_.emplace_back(numbers_[i], numbers_[std::min(i + 1, numbers_.size() - 1)]);
  }
}

// The arrays only grow, since most blocks have about as many lines as the one before.
void SmiRowReader::Begin(std::string_view text) {
  delimiters_.Find(text.data(), text.size());
  text_ = text.data();
  line_ = 0;
  const std::size_t lines = delimiters_.lines();
  if (usual_.size() < lines) {
    usual_.resize(lines);
    times_.resize(lines);
    devices_.resize(lines);
    for (std::uint32_t bits = present_; bits != 0; bits &= bits - 1) {
      const auto signal = static_cast<std::size_t>(std::countr_zero(bits));
      values_[signal].resize(lines);
      value_[signal] = values_[signal].data();
    }
  }
  ReadNumbers(pairs_,
              {text_, delimiters_.cell_end(), delimiters_.last_cell(), lines, columns_, value_.data(), usual_.data()});
}

// A cell of the last line read, with its blank.
inline std::string_view SmiRowReader::Cell(std::size_t position) const {
  const std::uint32_t begin = (ends_.data() + position)[-1] + 1;
  return {text_ + begin, ends_[position] - begin};
}

RowFaults SmiRowReader::TakeFaults() {
  const RowFaults faults = faults_;
  faults_ = {};
  return faults;
}

// Counts a fault and remembers the line of the first.
void SmiRowReader::Count(FaultCount& fault) const {
  if (fault.count++ == 0) fault.line = static_cast<std::int64_t>(line_);
}

// Sets the form that the following cells of a column are expected to have. Only forms whose numbers are whole in the
// signal's unit qualify, so that nothing is rounded.
void SmiRowReader::Expect(std::size_t at, std::string_view number, const UnitScale& unit, std::string_view suffix) {
  NumberColumn& column = numbers_[at];
  column.form = NumberForm();
  NumberForm form(number, suffix);
  std::int64_t divisor = unit.denominator;
  for (std::size_t i = 0; i < form.decimals && divisor <= unit.numerator; ++i) divisor *= 10;
  const std::int64_t scale = unit.numerator / divisor;
  if (unit.numerator % divisor != 0 || scale == 0 || scale > INT32_MAX) return;
  column.form = form;
  column.scale = static_cast<std::uint32_t>(scale);
  const std::int64_t most = RangeOf(Info(column.signal).unit).high / scale;
  column.most = static_cast<std::int32_t>(std::min<std::int64_t>(most, INT32_MAX));
}

// Reads a number in any form and expects that form from now on. False if the cell cannot be read.
bool SmiRowReader::ReadOddNumber(std::string_view cell, std::size_t at, Sample& sample) {
  const SmiColumn& bound = number_units_[at];
  const Signal signal = bound.signal;
  const char* const cell_end = cell.data() + cell.size();
  cell = Trim(cell);
  const Quantity quantity = ReadQuantity(cell, Info(signal).unit, bound.unit);
  if (!quantity.value) {
    if (quantity.issue == QualityId::kBadRow) return false;
    Count(quantity.issue == QualityId::kUnavailableValue ? faults_.unavailable
          : quantity.issue == QualityId::kNotFinite      ? faults_.not_finite
                                                         : faults_.out_of_range);
    sample.SetUnavailable(signal, quantity.why);
    return true;
  }
  sample.Set(signal, *quantity.value);
  const std::string_view number = cell.substr(0, NumberLength(cell));
  const std::string_view printed = Trim(cell.substr(number.size()));
  // Neither the cell nor the header has a unit, so nvidia-smi's default is assumed, which is counted. Degrees never
  // have one.
  if (printed.empty() && !bound.unit_shown && signal != Signal::kTemperature) {
    Count(faults_.unit_assumed);
    faults_.units_assumed |= Bit(signal);
  }
  // The suffix includes what follows the unit: the '\r' of a line end.
  const char* const suffix = number.data() + number.size();
  const UnitScale* const unit = FindUnitScale(printed.empty() ? bound.unit : printed, Info(signal).unit);
  Expect(at, number, *unit, {suffix, static_cast<std::size_t>(cell_end - suffix)});
  return true;
}

// Reads a stamp, and remembers its minute for ReadUsualRows. A minute of an ambiguous hour is not remembered, because
// the same text then means two instants.
bool SmiRowReader::ReadTime(std::string_view cell, Sample& sample) {
  const std::string_view whole = Trim(cell);
  std::string_view rest = whole;
  CivilTime civil;
  bool zoned = false;
  if (!TakeCivilTime(rest, &civil, &zoned) || !rest.empty()) return false;
  if (zoned || zone_ == nullptr) {
    sample.time = InUtc(civil);
    faults_.zone_assumed = faults_.zone_assumed || !zoned;
  } else {
    const LocalMeaning meaning = zone_->MeaningOf(civil);
    sample.time = ByOrder(meaning, &last_time_);
    if (meaning.doubtful()) {
      Count(faults_.zone_ambiguous);
      return true;
    }
  }
  // Only stamps of the usual form, 2026/07/03 22:22:01.444, whose first 16 characters end with the minute.
  if (!zoned && whole.size() == 23) {
    std::memcpy(minute_text_.data(), whole.data(), sizeof minute_text_);
    minute_ns_ = sample.time.nanos() - civil.second * kNanosPerSecond - civil.nanos;
  }
  return true;
}

// Reads a mask ("0x0000000000000004"), or one flag of it. False if the cell is neither a value nor a word for none.
bool SmiRowReader::ReadMask(std::string_view cell, const MaskPart& part, Sample& sample, RowFaults& faults) const {
  if (part.column.role == SmiRole::kFlag) return ReadFlag(Bare(cell), part, sample);
  cell = Bare(cell);
  const Signal signal = part.column.signal;
  const std::optional<std::uint64_t> mask = ParseMask(cell);
  if (!mask) {
    const std::optional<Unobserved> reason = WhyUnavailable(cell);
    if (!reason) return false;
    Count(faults.unavailable);
    sample.SetUnavailable(signal, *reason);
    return true;
  }
  if (const std::optional<std::int64_t> valid = InRange(Unit::kMask, static_cast<Int128>(*mask))) {
    sample.Set(signal, *valid);
  } else {
    Count(faults.out_of_range);
    sample.SetUnavailable(signal, Unobserved::kSentinel);
  }
  return true;
}

// Sets or clears one bit of the mask. A flag without a value leaves its bit at 0; if no flag has one, ReadMasks says
// so.
bool SmiRowReader::ReadFlag(std::string_view cell, const MaskPart& flag, Sample& sample) {
  if (cell == "Active" || cell == "Not Active") {
    const std::int64_t so_far = sample.Has(Signal::kEventReasons) ? sample.Get(Signal::kEventReasons) : 0;
    const std::int64_t bit = cell == "Active" ? std::int64_t{1} << flag.column.flag_bit : 0;
    sample.Set(Signal::kEventReasons, so_far | bit);
    return true;
  }
  return WhyUnavailable(cell).has_value();
}

// Reads one number in the expected form, else in any form. It uses the same code as whole blocks, with a block of one
// line, so that both paths agree.
bool SmiRowReader::ReadNumber(std::size_t at, Sample& sample) {
  const NumberColumn& column = numbers_[at];
  // A block of one line: its cells end at ends_, and the element before them ends the line before.
  const NumberPair twice(column, column);
  const std::array<std::uint32_t, 2> last_cell = {0, static_cast<std::uint32_t>(columns_)};
  std::array<std::int64_t*, kSignalCount> value{};
  value[Index(column.signal)] = &sample.value[Index(column.signal)];
  std::uint8_t usual = 0;
  ReadNumbers({&twice, 1}, {text_, ends_.data() - 1, last_cell.data(), 1, columns_, value.data(), &usual});
  if (usual == 0) return ReadOddNumber(Cell(column.position), at, sample);
  sample.present |= Bit(column.signal);
  return true;
}

// Reads all numbers of a line that is not usual, and expects their forms from now on. False if one cannot be read.
bool SmiRowReader::ReadNumbersOneByOne(Sample& sample) {
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    if (!ReadNumber(i, sample)) return false;
  }
  PairNumbers();
  return true;
}

// Reads all columns of the mask. `faults`: where to count, because ReadUsualRows may read a mask that Next reads
// again.
bool SmiRowReader::ReadMasks(Sample& sample, RowFaults& faults) const {
  constexpr Signal kReasons = Signal::kEventReasons;
  for (const MaskPart& mask : masks_) {
    if (!ReadMask(Cell(mask.position), mask, sample, faults)) return false;
  }
  if (masks_.empty() || sample.Has(kReasons) || sample.Lacks(kReasons)) return true;
  Count(faults.unavailable);  // no flag has a value
  sample.SetUnavailable(kReasons, WhyUnavailable(Cell(masks_.front().position)).value_or(Unobserved::kSentinel));
  return true;
}

// Reads all cells of the last line. False if one cannot be read; the row is then bad as a whole.
inline bool SmiRowReader::ReadCells(Sample& sample, RowIdentity& identity) {
  if (time_ && !ReadTime(Cell(*time_), sample)) return false;
  for (const NamePart& name : names_) identity.*name.part = Bare(Cell(name.position));
  if (usual_[line_ - 1] != 0) {
    for (const NumberColumn& number : numbers_) sample.Set(number.signal, value_[Index(number.signal)][line_ - 1]);
  } else if (!ReadNumbersOneByOne(sample)) {
    return false;
  }
  return ReadMasks(sample, faults_);
}

// Compares identities, which mostly have equal length and differ at the end.
inline bool Same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && (a.empty() || (a.back() == b.back() && (a.size() == 1 || a == b)));
}

const std::string& SmiRowReader::Joined(const RowIdentity& identity) {
  joined_.clear();
  for (const NamePart& name : names_) (joined_ += identity.*name.part) += ',';  // which is in no cell
  return joined_;
}

void SmiRowReader::Learn(const RowIdentity& identity, DeviceId device) {
  Known known{{}, device};
  for (const NamePart& name : names_) known.text.emplace_back(identity.*name.part);
  by_cells_.emplace(Joined(identity), known_.size());
  known_.push_back(std::move(known));
  guess_ = 0;
}

std::optional<DeviceId> SmiRowReader::Find(const RowIdentity& identity) {
  const auto found = by_cells_.find(Joined(identity));
  if (found == by_cells_.end()) return std::nullopt;
  guess_ = found->second + 1 < known_.size() ? found->second + 1 : 0;
  return known_[found->second].device;
}

// Reads the mask of a usual row: present and readable.
bool SmiRowReader::ReadUsualMask(std::int64_t* mask) {
  Sample sample;
  if (!ReadMasks(sample, faults_aside_) || !sample.Has(Signal::kEventReasons)) return false;
  *mask = sample.Get(Signal::kEventReasons);
  return true;
}

// The hot loop of the importer. Members are copied into locals, so that the compiler keeps them in registers although
// the loop writes through pointers.
std::size_t SmiRowReader::ReadUsualRows() {
  if (!time_ || (!names_.empty() && known_.empty())) return 0;
  const char* const text = text_;
  const std::uint32_t* const cell_end = delimiters_.cell_end() + 1;
  const std::uint32_t* const last_cell = delimiters_.last_cell();
  const std::size_t time = *time_;
  const std::array<std::uint64_t, 2> minute = minute_text_;
  const std::size_t from = line_;
  const std::size_t lines = delimiters_.lines();
  const std::uint8_t* const usual = usual_.data();
  const std::int64_t minute_ns = minute_ns_;
  const auto names = std::span(std::as_const(names_));
  const auto all_known = std::span(std::as_const(known_));
  const bool reads_mask = !masks_.empty();
  Instant* const times = times_.data();
  DeviceId* const devices = devices_.data();
  std::size_t guess = guess_;
  std::size_t line = from;
  for (; line < lines && usual[line] != 0; ++line) {
    const std::uint32_t* const ends = cell_end + last_cell[line];
    const auto cell = [&](std::size_t position) {
      const std::uint32_t begin = (ends + position)[-1] + 1;
      const std::uint32_t blank = text[begin] == ' ' ? 1 : 0;
      return std::string_view(text + begin + blank, ends[position] - begin - blank);
    };
    const std::string_view stamp = cell(time);
    std::int64_t ms = 0;
    // Same minute as the last stamp that was parsed: its text is compared, its seconds are read.
    if (stamp.size() != 23 || Load8(stamp.data()) != minute[0] || Load8(stamp.data() + 8) != minute[1] ||
        !MillisOfMinute(stamp.data() + 15, &ms)) {
      break;
    }
    times[line] = Instant::FromNanos(minute_ns + ms * 1'000'000);
    if (!names.empty()) {
      // The next device of the sweep. A wrong guess stops here, and Next looks the device up.
      const Known& known = all_known[guess];
      std::size_t same = 0;
      while (same < names.size() && Same(known.text[same], cell(names[same].position))) ++same;
      if (same < names.size()) break;
      devices[line] = known.device;
      guess = guess + 1 < all_known.size() ? guess + 1 : 0;
    }
    if (reads_mask) {
      ends_ = {ends, columns_};
      if (!ReadUsualMask(&value_[Index(Signal::kEventReasons)][line])) break;
    }
  }
  line_ = line;
  guess_ = guess;
  return line - from;
}

SampleColumns SmiRowReader::Columns(std::size_t from, std::size_t lines) const {
  SampleColumns columns{lines, times_.data() + from, devices_.data() + from, present_, {}};
  for (std::uint32_t bits = present_; bits != 0; bits &= bits - 1) {
    const auto signal = static_cast<std::size_t>(std::countr_zero(bits));
    columns.values[signal] = value_[signal] + from;
  }
  return columns;
}

std::string_view SmiRowReader::Line() const {
  const std::uint32_t begin = ends_.data()[-1] + 1;
  return {text_ + begin, ends_.back() - begin};
}

// Reads the stamp again to tell a wrong time from a wrong value. The faults of that reading are not counted.
std::string SmiRowReader::WhyBad() {
  if (ends_.size() != columns_) {
    return fmt::format("has {} cells and the header {}; are there commas in its numbers? Record with --format=csv",
                       ends_.size(), columns_);
  }
  Sample sample;
  const RowFaults before = faults_;
  const bool timed = !time_ || ReadTime(Cell(*time_), sample);
  faults_ = before;
  if (timed) return "has a cell that is neither a number nor a known word";
  return fmt::format(
      "its time '{}' differs from nvidia-smi's form 2026/07/03 22:22:01.444 (did a spreadsheet save it?)",
      Printable(Bare(Cell(*time_)).substr(0, 40)));
}

std::size_t SmiRowReader::MisfitCells() const {
  if (ends_.size() == columns_) return columns_;
  // A row of other columns still has a time in one of its cells; a message of a driver has none.
  for (std::size_t i = 0; time_ && i < ends_.size(); ++i) {
    std::string_view cell = Trim(Cell(i));
    CivilTime civil;
    bool zoned = false;
    if (TakeCivilTime(cell, &civil, &zoned) && cell.empty()) return ends_.size();
  }
  return time_ || ends_.size() < 2 ? 0 : ends_.size();
}

SmiRowReader::Outcome SmiRowReader::Next(RowIdentity& identity, Sample& sample) {
  ends_ = delimiters_.Line(line_++);
  sample.present = 0;
  sample.unavailable = 0;
  if (ends_.size() == columns_ && ReadCells(sample, identity)) return Outcome::kRow;
  return Trim(Line()).empty() ? Outcome::kBlank : Outcome::kBad;
}

}  // namespace idleburn
