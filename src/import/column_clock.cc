#include "import/column_clock.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/int128.h"
#include "import/stamp.h"
#include "text/escape.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSlot = 900 * kNanosPerSecond;
constexpr std::int64_t kOldestEpoch = 100'000'000;  // seconds: 1973, below which a number is no epoch

// Epoch units by what an epoch between 1973 and 5138 comes to in each.
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

Result<void> ColumnClock::Decide(std::int64_t whole, std::string_view cell, std::int64_t line) {
  const auto* found =
      std::find_if(kEpochForms.begin(), kEpochForms.end(), [&](const EpochForm& f) { return whole >= f.from; });
  if (found == kEpochForms.end()) return Refuse(cell, line, "is no epoch of any unit");
  form_ = found->form;
  assumed_ = true;
  quality_.CountNamed(QualityId::kUnitAssumed, column_ + " in " + std::string(found->name), {&file_, line});
  return {};
}

Result<std::optional<Instant>> ColumnClock::Checked(std::int64_t nanos, bool fits, std::string_view cell,
                                                    std::int64_t line) const {
  if (assumed_ && (!fits || nanos < kOldestEpoch * kNanosPerSecond)) {
    return Refuse(cell, line, "has another unit than the rows before it");
  }
  if (!fits) return std::optional<Instant>();
  return std::optional(Instant::FromNanos(nanos));
}

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

// A double holds an epoch to about a quarter of a microsecond, so that is all that is taken from it.
Result<std::optional<Instant>> ColumnClock::FromReal(double v, std::int64_t line) {
  if (!std::isfinite(v) || std::abs(v) >= 9.2e18) return std::optional<Instant>();
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

std::optional<Instant> ColumnClock::Civil(std::string_view cell, std::int64_t line) {
  CivilTime civil;
  bool zoned = false;
  if (!TakeCivilTime(cell, &civil, &zoned)) return std::nullopt;
  cell = Trim(cell);
  for (const std::string_view universal : {"UTC", "GMT", "+0000 UTC"}) {
    if (cell != universal) continue;
    zoned = true;
    cell = {};
  }
  if (!cell.empty()) return std::nullopt;
  return zoned ? InUtc(civil) : FromLocal(InUtc(civil).nanos(), line);
}

}  // namespace idleburn
