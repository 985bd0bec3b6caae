#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// A wall-clock reading without a zone.
struct CivilTime {
  std::int64_t year = 1970;
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  std::int64_t nanos = 0;
};

// Days since 1970-01-01 in the proleptic Gregorian calendar.
constexpr std::int64_t DaysFromCivil(std::int64_t y, int m, int d) {
  y -= m <= 2 ? 1 : 0;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

constexpr int DaysInMonth(std::int64_t year, int month) {
  const std::int64_t next = month == 12 ? DaysFromCivil(year + 1, 1, 1) : DaysFromCivil(year, month + 1, 1);
  return static_cast<int>(next - DaysFromCivil(year, month, 1));
}

// What a local time means.
struct LocalMeaning {
  Instant first;         // its only meaning, or the first
  Nanos again{0};        // how much later it comes again where daylight saving repeats it, else 0
  bool skipped = false;  // it never was: daylight saving went past it

  [[nodiscard]] bool doubtful() const { return skipped || again != Nanos(0); }
};

Instant InUtc(const CivilTime& t);
CivilTime ToCivil(Instant t);

// An IANA zone ("Europe/Berlin", "UTC") or a fixed offset ("+02:00").
class TimeZone {
 public:
  static Result<TimeZone> Load(std::string_view name);

  [[nodiscard]] LocalMeaning MeaningOf(const CivilTime& local) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct Zone;
  TimeZone(std::string name, std::shared_ptr<const Zone> zone);
  std::string name_;
  std::shared_ptr<const Zone> zone_;
};

// Reads the longest date and time at the start of `text` and removes it: "2026/07/03 22:22:01.444",
// "2026-07-03T22:22:01.444Z" (separators '/' or '-', 'T' or space, up to nine decimals). A trailing zone
// ("Z", "+02:00", "+02", " +0200") is applied and *zoned set; without one the civil time is returned as it stands.
bool TakeCivilTime(std::string_view& text, CivilTime* time, bool* zoned);

// RFC 3339 in UTC, with the fewest of 0, 3, 6, 9 decimals that are exact: "2026-07-03T22:22:01.444Z".
std::string FormatRfc3339(Instant t);
// Its day in UTC: "2026-07-03".
std::string FormatDay(Instant t);
// A whole RFC 3339 stamp with its zone to an instant.
Result<Instant> ParseRfc3339(std::string_view text);
// A day ("2026-07-03": its start in UTC) or a whole RFC 3339 stamp.
Result<Instant> ParseDayOrTime(std::string_view text);

}  // namespace idleburn
