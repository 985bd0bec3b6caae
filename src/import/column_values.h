#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/int128.h"
#include "import/column_map.h"
#include "telemetry/sample.h"

namespace idleburn {

// Why a cell of a table has no value.
enum class CellFault : std::uint8_t { kNone, kUnavailable, kNotFinite, kOutOfRange, kSentinel, kUnreadable };

struct CellReading {
  std::int64_t value = 0;  // in the unit of the signal
  CellFault fault = CellFault::kNone;
  Unobserved why = Unobserved::kSentinel;  // of a fault
};

// Turns the cells of one signal's column into the signal's integer unit.
class ColumnScale {
 public:
  explicit ColumnScale(const BoundColumn& column);

  // A number with or without its own unit ("78.28 W"), which goes before the column's.
  CellReading FromText(std::string_view cell);
  CellReading FromInteger(std::int64_t v);
  CellReading FromReal(double v);

  // The quick way for a run of numbers. False, with nothing of use in `out`, if one needs more than a multiplication
  // (it is out of range, a code for "no value", NaN); then each goes through the functions above.
  bool FromPlain(std::span<const std::int64_t> cells, std::int64_t* out);
  bool FromPlain(std::span<const double> cells, std::int64_t* out);

  // True if further numbers cannot change what CheckUnit says.
  [[nodiscard]] bool unit_settled() const { return !percent_assumed_ || saw_above_one_; }
  // After the last cell: an error if per cent was only assumed and all values were fractions of at most 1, which are
  // as likely a ratio. `column` is the one scaled.
  [[nodiscard]] Result<void> CheckUnit(const BoundColumn& column, const std::string& file) const;

 private:
  [[nodiscard]] CellReading Checked(Int128 value) const;
  void Saw(bool fraction, bool above_one) {
    saw_fraction_ = saw_fraction_ || fraction;
    saw_above_one_ = saw_above_one_ || above_one;
  }

  Unit kind_;
  const ColumnUnit* unit_;
  Int128 integer_factor_;   // of an integer of the column, over
  Int128 integer_divisor_;  // this
  double real_factor_;
  bool percent_assumed_;
  // The numbers of FromPlain: from 0 to here, one of an integer column being plain_factor_.
  std::int64_t plain_high_ = -1;
  std::int64_t plain_factor_ = 0;
  double real_high_ = 0;  // after scaling
  bool saw_fraction_ = false;
  bool saw_above_one_ = false;
};

}  // namespace idleburn
