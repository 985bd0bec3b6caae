#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/int128.h"
#include "import/column_rows.h"
#include "import/printed_values.h"
#include "telemetry/sample.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Cells of tables with columns of any name. Two questions recur: which unit a number has, and which unit an epoch
// has. Neither is guessed silently. An assumption is counted, and values that contradict it, or that fit two units,
// are errors.
//
//     util 0.97, no unit given     ->  error at the end of the table if no value exceeds 1
//     ts 1757000000123             ->  milliseconds, counted; a later 1757000000 is an error

namespace {

// DCGM's codes for "no value" (dcgm_structs.h): four consecutive values per type, beginning here.
constexpr std::int64_t kBlankInt32 = 0x7ffffff0;
constexpr std::int64_t kBlankInt64 = 0x7ffffffffffffff0;
constexpr double kBlankReal = 140737488355328.0;

CellReading NoReading(CellFault fault, Unobserved why = Unobserved::kSentinel) { return {0, fault, why}; }

// "312.5 W" for "312,5 W", as spreadsheets in many countries write it. Absent if there is no comma, or if the comma may
// separate thousands ("1,312").
std::optional<std::string> WithPoint(std::string_view cell) {
  const std::size_t comma = cell.find(',');
  if (comma == std::string_view::npos || cell.find_first_of(".,", comma + 1) != std::string_view::npos) return {};
  const std::string_view whole = cell.substr(0, comma);
  const std::string_view rest = cell.substr(comma + 1);
  const std::size_t decimals = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (whole.empty() || whole.find_first_not_of("0123456789") != std::string_view::npos || decimals == 0) return {};
  // "1,312" may be 1312. "0,312" cannot be.
  if (decimals == 3 && whole != "0") return {};
  return std::string(whole) + "." + std::string(rest);
}

}  // namespace

// Prepares factors, so that most cells need one multiplication. A fraction of units, such as 16384/15625 for MiB, is
// reduced to a whole factor where it is one. The limits of the fast path stay below DCGM's codes, so that a code can
// only be met on the slow path.
ColumnScale::ColumnScale(const BoundColumn& column)
    : kind_(Info(column.role->signal).unit),
      unit_(column.unit),
      integer_factor_(static_cast<Int128>(PowerOfTen(unit_->decimals)) * unit_->numerator),
      integer_divisor_(unit_->denominator),
      real_factor_(static_cast<double>(integer_factor_) / static_cast<double>(unit_->denominator)),
      percent_assumed_((column.unit_assumed || column.scale_doubtful) && kind_ == Unit::kMicroPercent &&
                       unit_->decimals == 6) {
  if (integer_factor_ % integer_divisor_ == 0) {
    integer_factor_ /= integer_divisor_;
    integer_divisor_ = 1;
  }
  const std::int64_t high = RangeOf(kind_).high;
  if (integer_divisor_ == 1 && FitsInt64(integer_factor_)) {
    plain_factor_ = static_cast<std::int64_t>(integer_factor_);
    plain_high_ = std::min(high / plain_factor_, kBlankInt32 - 1);
  }
  real_high_ = std::min(static_cast<double>(high), (kBlankReal - 1) * real_factor_) * 0.999;
}

CellReading ColumnScale::Checked(Int128 value) const {
  const std::optional<std::int64_t> valid = InRange(kind_, value);
  return valid ? CellReading{*valid} : NoReading(CellFault::kOutOfRange);
}

CellReading ColumnScale::FromInteger(std::int64_t v) {
  // The four codes of a width differ in their last two bits.
  if ((v & ~std::int64_t{3}) == kBlankInt32 || (v & ~std::int64_t{3}) == kBlankInt64) {
    return NoReading(CellFault::kSentinel);
  }
  const Int128 scaled = static_cast<Int128>(v) * integer_factor_;
  if (integer_divisor_ == 1) {
    Saw(false, v > 1);
    return Checked(scaled);
  }
  const CellReading reading = Checked(DivHalfEven(scaled, integer_divisor_));
  Saw(reading.value > 0, reading.value > kPercent);
  return reading;
}

// Rounds half away from zero. A double is only near the decimal number that was meant, so a tie has no meaning.
CellReading ColumnScale::FromReal(double v) {
  if (!std::isfinite(v)) return NoReading(CellFault::kNotFinite);
  if (v >= kBlankReal && v < kBlankReal + 4) return NoReading(CellFault::kSentinel);
  Saw(v > 0, v > 1);
  const double scaled = v * real_factor_;
  if (std::abs(scaled) >= 9e18) return NoReading(CellFault::kOutOfRange);
  return Checked(static_cast<std::int64_t>(scaled + std::copysign(0.5, scaled)));
}

// Multiplies first and checks afterwards, because a loop without branches is vectorized. The product of an unfit
// number may wrap; it is then thrown away.
bool ColumnScale::FromPlain(std::span<const std::int64_t> cells, std::int64_t* out) {
  const std::int64_t factor = plain_factor_;
  std::uint64_t most = 0;  // a negative number becomes larger than all others
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto cell = static_cast<std::uint64_t>(cells[i]);
    most = std::max(most, cell);
    out[i] = static_cast<std::int64_t>(cell * static_cast<std::uint64_t>(factor));
  }
  if (plain_high_ < 0 || most > static_cast<std::uint64_t>(plain_high_)) return false;
  Saw(false, most > 1);
  return true;
}

bool ColumnScale::FromPlain(std::span<const double> cells, std::int64_t* out) {
  const double factor = real_factor_;
  const double high = real_high_;
  double most = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double cell = cells[i];
    const double scaled = cell * factor;
    if (!(cell >= 0 && scaled <= high)) return false;  // NaN is neither
    most = std::max(most, cell);
    out[i] = static_cast<std::int64_t>(scaled + 0.5);
  }
  Saw(most > 0, most > 1);
  return true;
}

// Reads plain integers first, which most cells are. The unit in the cell wins over the column's. A cell that is
// unreadable with a decimal point is tried again with a decimal comma.
CellReading ColumnScale::FromText(std::string_view cell) {
  cell = Trim(cell);
  if (const std::optional<std::int64_t> integer = ParseInteger(cell)) return FromInteger(*integer);
  const bool number_like = !cell.empty() && cell.front() >= '0' && cell.front() <= '9';  // true for nearly every cell
  if (!number_like) {
    if (const std::optional<Unobserved> why = WhyUnavailable(cell)) return NoReading(CellFault::kUnavailable, *why);
  }
  if (kind_ == Unit::kMask) {
    const std::optional<std::uint64_t> mask = ParseMask(cell);
    return mask ? Checked(static_cast<Int128>(*mask)) : NoReading(CellFault::kUnreadable);
  }
  // The number ends where its characters do; the rest is a unit.
  const std::size_t stop = std::min(cell.find_first_not_of("+-.0123456789eE"), cell.size());
  const std::string_view suffix = stop == 0 ? std::string_view() : Trim(cell.substr(stop));
  const ColumnUnit* const unit = suffix.empty() ? unit_ : FindColumnUnit(suffix, kind_);
  if (unit == nullptr) {
    const std::optional<std::string> pointed = WithPoint(cell);
    return pointed ? FromText(*pointed) : NoReading(CellFault::kUnreadable);
  }
  const ScaledNumber number = ParseScaled(stop == 0 ? cell : Trim(cell.substr(0, stop)), unit->decimals);
  if (number.fault == NumberFault::kNotFinite) return NoReading(CellFault::kNotFinite);
  if (number.fault == NumberFault::kTooLarge) return NoReading(CellFault::kOutOfRange);
  if (number.fault != NumberFault::kNone) return NoReading(CellFault::kUnreadable);
  if (!suffix.empty()) {
    percent_assumed_ = false;  // the cells name the unit themselves
  } else {
    Saw(number.value > 0, number.value > kPercent);
  }
  return Checked(DivHalfEven(static_cast<Int128>(number.value) * unit->numerator, unit->denominator));
}

Result<void> ColumnScale::CheckUnit(const BoundColumn& column, const std::string& file) const {
  if (!percent_assumed_ || !saw_fraction_ || saw_above_one_) return {};
  const std::string role = "--columns " + std::string(column.role->name);
  return Fail(file + ": column '" + Printable(column.name) +
              "' never exceeds 1: percent or ratio? Say --unit ratio or " + "--unit percent, or " + role +
              ":ratio=...");
}

namespace {

// A quarter hour: UTC offsets change only between those.
constexpr std::int64_t kSlot = 900 * kNanosPerSecond;
// A smaller number of seconds (before 1973) is not an epoch.
constexpr std::int64_t kOldestEpoch = 100'000'000;

// The range of an epoch between 1973 and 5138 in each unit. The ranges do not overlap, so the first epoch decides.
struct EpochForm {
  std::int64_t from;
  TimeForm form;
  std::string_view name;
};
constexpr std::array<EpochForm, 4> kEpochForms = {{
    {kOldestEpoch * 1'000'000'000, TimeForm::kNanos, "nanoseconds"},
    {kOldestEpoch * 1'000'000, TimeForm::kMicros, "microseconds"},
    {kOldestEpoch * 1000, TimeForm::kMillis, "milliseconds"},
    {kOldestEpoch, TimeForm::kSeconds, "seconds"},
}};

}  // namespace

ColumnClock::ColumnClock(const BoundColumn& column, const ImportOptions& options, DataQuality& quality,
                         const std::string& file)
    : options_(options), quality_(quality), file_(file), column_(column.name), form_(column.time) {}

int ColumnClock::Decimals() const {
  constexpr std::array<int, 6> kDecimals = {9, 9, 9, 6, 3, 0};  // in the order of TimeForm
  return kDecimals[static_cast<std::size_t>(form_)];
}

tl::unexpected<Error> ColumnClock::Refuse(std::string_view cell, std::int64_t line, std::string_view why) const {
  return Fail(file_ + ":" + std::to_string(line) + ": time '" + Printable(cell.substr(0, 40)) + "' in column '" +
              Printable(column_) + "' " + std::string(why) +
              "; say its unit with --columns time:s=, time:ms=, time:us= or time:ns=");
}

// Fixes the unit of epochs by the magnitude of the first one. The assumption is counted once.
Result<void> ColumnClock::Decide(std::int64_t whole, std::string_view cell, std::int64_t line) {
  const auto* found =
      std::find_if(kEpochForms.begin(), kEpochForms.end(), [&](const EpochForm& f) { return whole >= f.from; });
  if (found == kEpochForms.end()) return Refuse(cell, line, "is not an epoch in any known unit");
  form_ = found->form;
  assumed_ = true;
  quality_.CountNamed(QualityId::kUnitAssumed, column_ + " in " + std::string(found->name), {&file_, line});
  return {};
}

// Refuses an epoch that the assumed unit would put before 1973 or beyond what an Instant holds: one log then has two
// units, and a silent choice would move rows by decades. If the user gave the unit, such a cell is only no time.
Result<std::optional<Instant>> ColumnClock::Checked(std::int64_t nanos, bool fits, std::string_view cell,
                                                    std::int64_t line) const {
  if (assumed_ && (!fits || nanos < kOldestEpoch * kNanosPerSecond)) {
    return Refuse(cell, line, "has a different unit from the rows before it");
  }
  if (!fits) return std::optional<Instant>();
  return std::optional(Instant::FromNanos(nanos));
}

// If the first readable cell is a date, the column holds dates; if it is a number, the column holds epochs.
Result<std::optional<Instant>> ColumnClock::FromText(std::string_view cell, std::int64_t line) {
  cell = Trim(cell);
  if (form_ == TimeForm::kText) return Civil(cell, line);
  if (form_ == TimeForm::kByFirstRow) {
    if (const std::optional<Instant> civil = Civil(cell, line)) {
      form_ = TimeForm::kText;
      return civil;
    }
    const ScaledNumber whole = ParseScaled(cell, 0);
    if (whole.fault != NumberFault::kNone) return std::optional<Instant>();
    TRY(Decide(whole.value, cell, line));
  }
  const ScaledNumber number = ParseScaled(cell, Decimals());
  const bool fits = number.fault == NumberFault::kNone;
  if (!fits && number.fault != NumberFault::kTooLarge) return std::optional<Instant>();
  return Checked(number.value, fits, cell, line);
}

Result<std::optional<Instant>> ColumnClock::FromInteger(std::int64_t v, std::int64_t line) {
  if (form_ == TimeForm::kByFirstRow) TRY(Decide(v, std::to_string(v), line));
  if (form_ == TimeForm::kText) return std::optional<Instant>();
  const Int128 nanos = static_cast<Int128>(v) * PowerOfTen(Decimals());
  const bool fits = FitsInt64(nanos);
  if (fits && (!assumed_ || nanos >= kOldestEpoch * kNanosPerSecond)) {
    return std::optional(Instant::FromNanos(static_cast<std::int64_t>(nanos)));
  }
  return Checked(fits ? static_cast<std::int64_t>(nanos) : 0, fits, std::to_string(v), line);
}

// A double holds an epoch to about a quarter microsecond, so finer digits are ignored.
Result<std::optional<Instant>> ColumnClock::FromReal(double v, std::int64_t line) {
  if (!std::isfinite(v) || std::abs(v) >= 9.2e18) return std::optional<Instant>();
  // Whole and fraction apart: their sum in nanoseconds has more digits than a double.
  const double whole = std::floor(v);
  if (form_ == TimeForm::kByFirstRow) TRY(Decide(static_cast<std::int64_t>(whole), std::to_string(v), line));
  if (form_ == TimeForm::kText) return std::optional<Instant>();
  const auto unit = static_cast<double>(PowerOfTen(Decimals()));
  if (std::abs(v) * unit >= 9.2e18) return Checked(0, false, std::to_string(v), line);
  const auto fraction = static_cast<std::int64_t>(std::round((v - whole) * unit / 1000) * 1000);
  return Checked(static_cast<std::int64_t>(whole) * PowerOfTen(Decimals()) + fraction, true, std::to_string(v), line);
}

bool ColumnClock::LocalIsUtc(std::int64_t line) {
  local_ = true;
  if (options_.timezone) return false;
  if (!said_utc_) quality_.Count(QualityId::kTimezoneAssumed, {&file_, line});
  said_utc_ = true;
  return true;
}

// Asks the zone once per quarter hour instead of once per row.
Instant ColumnClock::FromLocal(std::int64_t nanos, std::int64_t line) {
  if (LocalIsUtc(line)) return Instant::FromNanos(nanos);
  const std::int64_t slot = nanos / kSlot - (nanos % kSlot < 0 ? 1 : 0);
  if (slot != slot_) {
    slot_ = slot;
    slot_meaning_ = options_.timezone->MeaningOf(ToCivil(Instant::FromNanos(slot * kSlot)));
  }
  LocalMeaning meaning = slot_meaning_;
  meaning.first = meaning.first + Nanos(nanos - slot * kSlot);
  if (meaning.doubtful()) quality_.Count(QualityId::kTimezoneAmbiguous, {&file_, line});
  return ByOrder(meaning, &last_local_);
}

// A date and time as text, with an offset, a name of UTC behind it, or nothing. Absent if anything else follows.
std::optional<Instant> ColumnClock::Civil(std::string_view cell, std::int64_t line) {
  CivilTime civil;
  bool zoned = false;
  if (!TakeCivilTime(cell, &civil, &zoned)) return std::nullopt;
  cell = Trim(cell);
  // Names of UTC that databases and Go programs write behind a time.
  for (const std::string_view universal : {"UTC", "GMT", "+0000 UTC"}) {
    if (cell != universal) continue;
    zoned = true;
    cell = {};
  }
  if (!cell.empty()) return std::nullopt;
  return zoned ? InUtc(civil) : FromLocal(InUtc(civil).nanos(), line);
}

}  // namespace idleburn
