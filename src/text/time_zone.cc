#include "text/time_zone.h"

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>
#include <fmt/format.h>

#include <chrono>

#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;
constexpr std::size_t kDayLength = 10;  // of "2026-07-03"

// Removes exactly `count` digits from the start of `text`.
bool TakeDigits(std::string_view& text, std::size_t count, int* out) {
  if (text.size() < count) return false;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!IsDigit(text[i])) return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  *out = value;
  return true;
}

// Removes one character if it is in `any_of`.
bool TakeOneOf(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Whether the calendar has that day.
bool ValidDay(std::int64_t year, int month, int day) {
  return month >= 1 && month <= 12 && day >= 1 && day <= DaysInMonth(year, month);
}

// Removes a zone and returns seconds east of UTC: "Z", "+02:00", "-0530", or "+02" as databases write it. Leaves the
// text alone if there is none, or if it is beyond 18 hours.
bool TakeOffset(std::string_view& text, std::int64_t* seconds) {
  if (TakeOneOf(text, "Zz")) {
    *seconds = 0;
    return true;
  }
  std::string_view rest = text;
  const bool west = !rest.empty() && rest.front() == '-';
  int hours = 0;
  int minutes = 0;
  if (!TakeOneOf(rest, "+-") || !TakeDigits(rest, 2, &hours)) return false;
  const bool minutes_follow = TakeOneOf(rest, ":") || (!rest.empty() && IsDigit(rest.front()));
  if ((minutes_follow && !TakeDigits(rest, 2, &minutes)) || hours > 18 || minutes > 59) return false;
  *seconds = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
  text = rest;
  return true;
}

}  // namespace

struct TimeZone::Zone {
  cctz::time_zone zone;
};

Instant InUtc(const CivilTime& t) {
  const std::int64_t seconds =
      DaysFromCivil(t.year, t.month, t.day) * kSecondsPerDay + t.hour * 3600 + t.minute * 60 + t.second;
  return Instant::FromNanos(seconds * kNanosPerSecond + t.nanos);
}

// Seconds are rounded down, so that instants before 1970 get nanoseconds from 0 up.
CivilTime ToCivil(Instant t) {
  const auto floor = std::chrono::floor<std::chrono::seconds>(Nanos(t.nanos()));
  const cctz::civil_second civil =
      cctz::convert(cctz::time_point<cctz::seconds>(cctz::seconds(floor.count())), cctz::utc_time_zone());
  return {civil.year(),
          civil.month(),
          civil.day(),
          civil.hour(),
          civil.minute(),
          civil.second(),
          t.nanos() - Nanos(floor).count()};
}

TimeZone::TimeZone(std::string name, std::shared_ptr<const Zone> zone)
    : name_(std::move(name)), zone_(std::move(zone)) {}

// A name with ".." is refused, because names are paths below the folder of zone files.
Result<TimeZone> TimeZone::Load(std::string_view name) {
  cctz::time_zone zone;
  std::string_view rest = name;
  std::int64_t offset = 0;
  if (!name.empty() && TakeOffset(rest, &offset) && rest.empty()) {
    zone = cctz::fixed_time_zone(cctz::seconds(offset));
  } else if (name.find("..") != std::string_view::npos || !cctz::load_time_zone(std::string(name), &zone)) {
    return FailUsage("--timezone: unknown zone '" + std::string(name.substr(0, 60)) +
                     "'; give an IANA name such as Europe/Berlin or an offset such as +02:00");
  }
  return TimeZone(std::string(name), std::make_shared<const Zone>(Zone{zone}));
}

// cctz gives two instants for every local time: by the offset before a change (`pre`) and behind it (`post`).
LocalMeaning TimeZone::MeaningOf(const CivilTime& local) const {
  const cctz::civil_second civil(local.year, local.month, local.day, local.hour, local.minute, local.second);
  const cctz::time_zone::civil_lookup found = zone_->zone.lookup(civil);
  LocalMeaning meaning;
  meaning.first = Instant::FromNanos(found.pre.time_since_epoch().count() * kNanosPerSecond + local.nanos);
  if (found.kind == cctz::time_zone::civil_lookup::REPEATED) meaning.again = found.post - found.pre;
  meaning.skipped = found.kind == cctz::time_zone::civil_lookup::SKIPPED;
  return meaning;
}

bool TakeCivilTime(std::string_view& text, CivilTime* time, bool* zoned) {
  std::string_view rest = text;
  CivilTime t;
  int year = 0;
  *zoned = false;
  if (!TakeDigits(rest, 4, &year) || !TakeOneOf(rest, "/-") || !TakeDigits(rest, 2, &t.month) ||
      !TakeOneOf(rest, "/-") || !TakeDigits(rest, 2, &t.day) || !TakeOneOf(rest, "T t") ||
      !TakeDigits(rest, 2, &t.hour) || !TakeOneOf(rest, ":") || !TakeDigits(rest, 2, &t.minute) ||
      !TakeOneOf(rest, ":") || !TakeDigits(rest, 2, &t.second)) {
    return false;
  }
  t.year = year;
  if (!ValidDay(t.year, t.month, t.day) || t.hour > 23 || t.minute > 59 || t.second > 60) return false;
  if (year < 1678 || year > 2261) return false;  // 64-bit nanoseconds
  // A comma may also separate the next CSV cell. It is a decimal point only if a digit follows.
  if (rest.size() > 1 && IsDigit(rest[1]) && TakeOneOf(rest, ".,")) {
    for (std::int64_t scale = kNanosPerSecond / 10; !rest.empty() && IsDigit(rest.front()); scale /= 10) {
      t.nanos += (rest.front() - '0') * scale;
      rest.remove_prefix(1);
    }
  }
  std::int64_t offset = 0;
  // A space may stand before an offset, but not before a name or a "Z", which may belong to what follows.
  const bool apart = rest.starts_with(" +") || rest.starts_with(" -");
  if (std::string_view zone = rest.substr(apart ? 1 : 0); TakeOffset(zone, &offset)) {
    rest = zone;
    *zoned = true;
    t = ToCivil(InUtc(t) + Nanos(-offset * kNanosPerSecond));
  }
  *time = t;
  text = rest;
  return true;
}

std::string FormatRfc3339(Instant t) {
  const CivilTime c = ToCivil(t);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", c.year, c.month, c.day, c.hour, c.minute, c.second);
  if (c.nanos % 1000 != 0) {
    text += fmt::format(".{:09}", c.nanos);
  } else if (c.nanos % 1'000'000 != 0) {
    text += fmt::format(".{:06}", c.nanos / 1000);
  } else if (c.nanos != 0) {
    text += fmt::format(".{:03}", c.nanos / 1'000'000);
  }
  return text + "Z";
}

Result<Instant> ParseRfc3339(std::string_view text) {
  std::string_view rest = text;
  CivilTime t;
  bool zoned = false;
  if (!TakeCivilTime(rest, &t, &zoned) || !zoned || !rest.empty()) {
    return Fail("'" + std::string(text.substr(0, 60)) + "' is not an RFC 3339 time such as 2026-07-03T22:22:01Z");
  }
  return InUtc(t);
}

std::string FormatDay(Instant t) { return FormatRfc3339(t).substr(0, kDayLength); }

std::string FormatUnixTime(std::int64_t seconds) {
  return FormatRfc3339(Instant::FromNanos(seconds * kNanosPerSecond));
}

std::string FormatUnixDay(std::int64_t seconds) { return FormatDay(Instant::FromNanos(seconds * kNanosPerSecond)); }

Result<Instant> ParseDayOrTime(std::string_view text) {
  return ParseRfc3339(text.size() == kDayLength ? std::string(text) + "T00:00:00Z" : text);
}

}  // namespace idleburn
