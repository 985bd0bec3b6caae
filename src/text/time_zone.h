#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// Civil time, zones and RFC 3339. All arithmetic is on integers. Logs print local times without a zone, so the
// meaning of a stamp depends on a zone that the user must give, and may depend on the stamps before it
// (import/printed_values.h). Only text/time_zone.cc knows the library that reads the zone files.

// A date and time without a zone, as a log prints it. `second` may be 60, a leap second, which counts as the first
// second of the next minute.
struct CivilTime {
  std::int64_t year = 1970;
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  std::int64_t nanos = 0;
};

// Days since 1970-01-01 in the proleptic Gregorian calendar. Years begin in March here, so that the leap day is the
// last day of a year and needs no case of its own.
constexpr std::int64_t DaysFromCivil(std::int64_t y, int m, int d) {
  y -= m <= 2 ? 1 : 0;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

// Days of a month, from 28 to 31.
constexpr int DaysInMonth(std::int64_t year, int month) {
  const std::int64_t next = month == 12 ? DaysFromCivil(year + 1, 1, 1) : DaysFromCivil(year, month + 1, 1);
  return static_cast<int>(next - DaysFromCivil(year, month, 1));
}

// The instant that a local time denotes. Daylight saving makes some local times ambiguous or void. In Berlin, 02:30
// came twice on 2026-10-25, one hour apart, and never on 2026-03-29.
struct LocalMeaning {
  Instant first;         // the only instant, or the earlier of two
  Nanos again{0};        // how much later the same local time comes again; 0 if it does not
  bool skipped = false;  // the clock skipped this local time

  // Whether the local time does not denote exactly one instant.
  [[nodiscard]] bool doubtful() const { return skipped || again != Nanos(0); }
};

// The instant of a civil time in UTC.
Instant InUtc(const CivilTime& t);
// The civil time of an instant in UTC.
CivilTime ToCivil(Instant t);

// An IANA zone ("Europe/Berlin", "UTC") or a fixed offset ("+02:00"). Cheap to copy; safe to use on several threads.
class TimeZone {
 public:
  // Fails if the system has no zone of that name.
  static Result<TimeZone> Load(std::string_view name);

  // The instant of a local time in this zone.
  [[nodiscard]] LocalMeaning MeaningOf(const CivilTime& local) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  // cctz's zone, which stays out of this header.
  struct Zone;
  TimeZone(std::string name, std::shared_ptr<const Zone> zone);
  std::string name_;
  std::shared_ptr<const Zone> zone_;
};

// Removes the longest date and time from the start of `text`: "2026/07/03 22:22:01.444", "2026-07-03T22:22:01.444Z".
// The date may use '/' or '-', and a 'T' or a space follows it. Decimals beyond nine are ignored. If a zone follows
// ("Z", "+02:00", "+02", " +0200"), *time is in UTC and *zoned is set. Otherwise *time is as written. False, and
// *time unchanged, if there is no such time, or if it lies outside the years 1678 to 2261, which nanoseconds in 64
// bits hold.
bool TakeCivilTime(std::string_view& text, CivilTime* time, bool* zoned);

// Writes RFC 3339 in UTC: "2026-07-03T22:22:01.444Z". It has 0, 3, 6 or 9 decimals, the fewest that are exact.
std::string FormatRfc3339(Instant t);
// Writes the day in UTC: "2026-07-03".
std::string FormatDay(Instant t);
// The same for a Unix time in seconds.
std::string FormatUnixTime(std::int64_t seconds);
std::string FormatUnixDay(std::int64_t seconds);
// Reads a complete RFC 3339 stamp, which must have a zone. Accepts everything that TakeCivilTime does with a zone.
Result<Instant> ParseRfc3339(std::string_view text);
// Reads a complete RFC 3339 stamp, or a day. "2026-07-03" means the start of that day in UTC.
Result<Instant> ParseDayOrTime(std::string_view text);

}  // namespace idleburn
