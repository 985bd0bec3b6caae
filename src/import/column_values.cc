#include "import/column_values.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "import/units.h"
#include "telemetry/sample.h"
#include "text/escape.h"
#include "text/number.h"

namespace idleburn {
namespace {

// DCGM's codes for "no value" (dcgm_structs.h), four of each type.
constexpr std::int64_t kBlankInt32 = 0x7ffffff0;
constexpr std::int64_t kBlankInt64 = 0x7ffffffffffffff0;
constexpr double kBlankReal = 140737488355328.0;

CellReading NoReading(CellFault fault, Unobserved why = Unobserved::kSentinel) { return {0, fault, why}; }

// "312,5 W", as a spreadsheet of many countries writes it, with a point. Absent where a comma may stand for thousands
// ("1,312"), and where there is none.
std::optional<std::string> WithPoint(std::string_view cell) {
  const std::size_t comma = cell.find(',');
  if (comma == std::string_view::npos || cell.find_first_of(".,", comma + 1) != std::string_view::npos) return {};
  const std::string_view whole = cell.substr(0, comma);
  const std::string_view rest = cell.substr(comma + 1);
  const std::size_t decimals = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (whole.empty() || whole.find_first_not_of("0123456789") != std::string_view::npos || decimals == 0) return {};
  if (decimals == 3 && whole != "0") return {};
  return std::string(whole) + "." + std::string(rest);
}

}  // namespace

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

CellReading ColumnScale::FromReal(double v) {
  if (!std::isfinite(v)) return NoReading(CellFault::kNotFinite);
  if (v >= kBlankReal && v < kBlankReal + 4) return NoReading(CellFault::kSentinel);
  Saw(v > 0, v > 1);
  const double scaled = v * real_factor_;
  if (std::abs(scaled) >= 9e18) return NoReading(CellFault::kOutOfRange);
  return Checked(static_cast<std::int64_t>(scaled + std::copysign(0.5, scaled)));
}

bool ColumnScale::FromPlain(std::span<const std::int64_t> cells, std::int64_t* out) {
  const std::int64_t factor = plain_factor_;
  std::uint64_t most = 0;  // of a negative number: beyond all
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

CellReading ColumnScale::FromText(std::string_view cell) {
  cell = Trim(cell);
  if (const std::optional<std::int64_t> integer = ParseInteger(cell)) return FromInteger(*integer);
  const bool number_like = !cell.empty() && cell.front() >= '0' && cell.front() <= '9';  // nearly every cell
  if (!number_like) {
    if (const std::optional<Unobserved> why = WhyUnavailable(cell)) return NoReading(CellFault::kUnavailable, *why);
  }
  if (kind_ == Unit::kMask) {
    const std::optional<std::uint64_t> mask = ParseMask(cell);
    return mask ? Checked(static_cast<Int128>(*mask)) : NoReading(CellFault::kUnreadable);
  }
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
    percent_assumed_ = false;  // the cells say it themselves
  } else {
    Saw(number.value > 0, number.value > kPercent);
  }
  return Checked(DivHalfEven(static_cast<Int128>(number.value) * unit->numerator, unit->denominator));
}

Result<void> ColumnScale::CheckUnit(const BoundColumn& column, const std::string& file) const {
  if (!percent_assumed_ || !saw_fraction_ || saw_above_one_) return {};
  const std::string role = "--columns " + std::string(column.role->name);
  return Fail(file + ": column '" + Printable(column.name) +
              "' never exceeds 1: per cent or a ratio? Say --unit ratio or " + "--unit percent, or " + role +
              ":ratio=...");
}

}  // namespace idleburn
