#include "text/time_zone.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <time.h>

#include <string>
#include <tuple>

#include "support/property.h"

namespace idleburn {
namespace {

// Taken from `date -u -d ... +%s`.
constexpr std::int64_t kJuly3 = 1'783'117'321;  // 2026-07-03T22:22:01Z

Instant At(std::int64_t seconds, std::int64_t nanos = 0) {
  return Instant::FromNanos(seconds * kNanosPerSecond + nanos);
}

std::int64_t SecondsOf(const char* zone, const CivilTime& local, bool* ambiguous) {
  const LocalMeaning meaning = TimeZone::Load(zone).value().MeaningOf(local);
  *ambiguous = meaning.doubtful();
  return meaning.first.nanos() / kNanosPerSecond;
}

TEST(TimeZoneTest, MonthsHaveTheirDays) {
  const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (int month = 1; month <= 12; ++month) EXPECT_EQ(DaysInMonth(2026, month), days[month - 1]) << month;
  EXPECT_EQ(DaysInMonth(2028, 2), 29);
  EXPECT_EQ(DaysInMonth(2000, 2), 29);
  EXPECT_EQ(DaysInMonth(1900, 2), 28);
}

TEST(TimeZoneTest, FollowsDaylightSavingBothWays) {
  bool ambiguous = true;
  EXPECT_EQ(SecondsOf("Europe/Berlin", {2026, 7, 4, 0, 22, 1, 0}, &ambiguous), kJuly3);  // summer: UTC+2
  EXPECT_FALSE(ambiguous);
  EXPECT_EQ(SecondsOf("Europe/Berlin", {2026, 1, 15, 13, 0, 0, 0}, &ambiguous), 1'768'478'400);  // winter: UTC+1
  EXPECT_FALSE(ambiguous);
  // Spring, 29 March 2026: 02:00 becomes 03:00 at 01:00Z; 02:30 never was and is read with winter's offset.
  EXPECT_EQ(SecondsOf("Europe/Berlin", {2026, 3, 29, 1, 59, 59, 0}, &ambiguous), 1'774'745'999);
  EXPECT_FALSE(ambiguous);
  EXPECT_EQ(SecondsOf("Europe/Berlin", {2026, 3, 29, 2, 30, 0, 0}, &ambiguous), 1'774'747'800);
  EXPECT_TRUE(ambiguous);
  EXPECT_EQ(SecondsOf("Europe/Berlin", {2026, 3, 29, 3, 0, 0, 0}, &ambiguous), 1'774'746'000);
  EXPECT_FALSE(ambiguous);
  // Autumn, 25 October 2026: 03:00 becomes 02:00 at 01:00Z; 02:30 was twice and means the first.
  EXPECT_EQ(SecondsOf("Europe/Berlin", {2026, 10, 25, 2, 30, 0, 0}, &ambiguous), 1'792'888'200);
  EXPECT_TRUE(ambiguous);
  EXPECT_EQ(SecondsOf("Europe/Berlin", {2026, 10, 25, 3, 0, 0, 0}, &ambiguous), 1'792'893'600);
  EXPECT_FALSE(ambiguous);
}

TEST(TimeZoneTest, SaysHowMuchLaterALocalTimeComesAgain) {
  const auto again = [](const char* zone, const CivilTime& local) {
    return TimeZone::Load(zone).value().MeaningOf(local).again.count() / kNanosPerSecond;
  };
  EXPECT_EQ(again("Europe/Berlin", {2026, 10, 25, 2, 30, 0, 0}), 3600);
  EXPECT_EQ(again("Australia/Lord_Howe", {2026, 4, 5, 1, 45, 0, 0}), 1800);  // daylight saving is half an hour there
  EXPECT_EQ(again("Europe/Berlin", {2026, 10, 25, 3, 0, 0, 0}), 0);
  EXPECT_EQ(again("Europe/Berlin", {2026, 3, 29, 2, 30, 0, 0}), 0);  // never was
}

TEST(TimeZoneTest, LoadsZonesAndOffsets) {
  bool ambiguous = false;
  EXPECT_EQ(SecondsOf("UTC", {2026, 7, 3, 22, 22, 1, 0}, &ambiguous), kJuly3);
  EXPECT_EQ(SecondsOf("+05:30", {2026, 7, 4, 3, 52, 1, 0}, &ambiguous), kJuly3);
  EXPECT_EQ(SecondsOf("-0800", {2026, 7, 3, 14, 22, 1, 0}, &ambiguous), kJuly3);
  EXPECT_EQ(SecondsOf("Asia/Kolkata", {2026, 7, 4, 3, 52, 1, 0}, &ambiguous), kJuly3);
  EXPECT_EQ(SecondsOf("America/Los_Angeles", {2026, 7, 3, 15, 22, 1, 0}, &ambiguous), kJuly3);
  EXPECT_EQ(TimeZone::Load("Europe/Berlin")->name(), "Europe/Berlin");
  for (const char* name : {"", "Europe/Nowhere", "+25:00", "+02:00x", "../../etc/passwd", "Europe", "+2"}) {
    const Result<TimeZone> zone = TimeZone::Load(name);
    ASSERT_FALSE(zone) << name;
    EXPECT_EQ(zone.error().kind, Error::Kind::kUsage);
    EXPECT_NE(zone.error().message.find("--timezone"), std::string::npos);
  }
}

TEST(TimeZoneTest, TakesTheStampsOfLogs) {
  struct Case {
    std::string_view text;
    std::int64_t nanos;
    bool zoned;
    std::string_view rest;
  };
  constexpr std::int64_t kNanos = kJuly3 * kNanosPerSecond;
  const Case cases[] = {
      {"2026/07/03 22:22:01.444", kNanos + 444'000'000, false, ""},
      {"2026-07-03T22:22:01.444Z", kNanos + 444'000'000, true, ""},
      {"2026-07-03t22:22:01z", kNanos, true, ""},
      {"2026-07-04T00:22:01.5+02:00", kNanos + 500'000'000, true, ""},
      {"2026-07-03 17:22:01,000000001-0500 tail", kNanos + 1, true, " tail"},
      {"2026-07-03 22:22:01.1234567899", kNanos + 123'456'789, false, ""},  // beyond nanoseconds: cut
      {"2026/07/03 22:22:01, 0, NVIDIA H100", kNanos, false, ", 0, NVIDIA H100"},
      {"2026/07/03 22:22:01.", kNanos, false, "."},
      {"2026-07-03 22:22:01 +2", kNanos, false, " +2"},
      {"2026-07-04T01:00:01+02:38", kNanos, true, ""},
      {"2026-07-04 00:22:01+02", kNanos, true, ""},  // as PostgreSQL and DuckDB write it
      {"2026-07-03 17:22:01.25-05", kNanos + 250'000'000, true, ""},
      {"2026-07-04 00:22:01 +0200, 97 %", kNanos, true, ", 97 %"},
      {"2026-07-03 17:22:01 -05:00", kNanos, true, ""},
      {"2026-07-03 22:22:01+2", kNanos, false, "+2"},
      {"2026-07-03 22:22:01+02:", kNanos, false, "+02:"},
      {"2016-12-31T23:59:60Z", 1'483'228'800 * kNanosPerSecond, true, ""},  // a leap second is the next second
  };
  for (const Case& c : cases) {
    std::string_view text = c.text;
    CivilTime time;
    bool zoned = !c.zoned;
    ASSERT_TRUE(TakeCivilTime(text, &time, &zoned)) << c.text;
    EXPECT_EQ(InUtc(time).nanos(), c.nanos) << c.text;
    EXPECT_EQ(zoned, c.zoned) << c.text;
    EXPECT_EQ(text, c.rest) << c.text;
  }
}

TEST(TimeZoneTest, RejectsWhatIsNoDate) {
  for (const std::string_view given :
       {"", "2026", "2026-02-29 00:00:00", "2026-13-01 00:00:00", "2026-00-01 00:00:00", "2026-01-00 00:00:00",
        "2026-01-01 24:00:00", "2026-01-01 00:60:00", "2026-01-01 00:00:61", "2026-1-01 00:00:00", "26-01-01 00:00:00",
        "1600-01-01 00:00:00", "2262-01-01 00:00:00", "2026-01-01", "2026-01-01 00:00", "Fri Jul  3 22:22:01 2026"}) {
    std::string_view text = given;
    CivilTime time;
    bool zoned = false;
    EXPECT_FALSE(TakeCivilTime(text, &time, &zoned)) << given;
    EXPECT_EQ(text, given);
  }
  for (const std::string_view text :
       {"2026-07-03T22:22:01", "2026-07-03T22:22:01Z ", "2026-07-03T22:22:01+19:00", "now"}) {
    EXPECT_FALSE(ParseRfc3339(text)) << text;
  }
}

TEST(TimeZoneTest, FormatsWithTheFewestDecimals) {
  EXPECT_EQ(FormatRfc3339(At(kJuly3)), "2026-07-03T22:22:01Z");
  EXPECT_EQ(FormatRfc3339(At(kJuly3, 444'000'000)), "2026-07-03T22:22:01.444Z");
  EXPECT_EQ(FormatRfc3339(At(kJuly3, 444'500'000)), "2026-07-03T22:22:01.444500Z");
  EXPECT_EQ(FormatRfc3339(At(kJuly3, 1)), "2026-07-03T22:22:01.000000001Z");
  EXPECT_EQ(FormatRfc3339(At(0, -1)), "1969-12-31T23:59:59.999999999Z");
}

// Against the C library's own calendar.
TEST(TimeZoneTest, RoundTripsAndAgreesWithTheSystem) {
  test::ExpectProperty([] {
    const auto seconds = *rc::gen::inRange<std::int64_t>(-9'000'000'000, 9'000'000'000);
    const auto nanos = *rc::gen::element<std::int64_t>(0, 1, 999, 1000, 444'000'000, 999'999'999);
    const Instant t = At(seconds, nanos);
    RC_ASSERT(ParseRfc3339(FormatRfc3339(t)).value() == t);
    RC_ASSERT(InUtc(ToCivil(t)) == t);
    const std::time_t system = seconds;
    std::tm parts{};
    gmtime_r(&system, &parts);
    const CivilTime c = ToCivil(t);
    RC_ASSERT(std::make_tuple(c.year - 1900, c.month - 1, c.day, c.hour, c.minute, c.second) ==
              std::make_tuple(std::int64_t{parts.tm_year}, parts.tm_mon, parts.tm_mday, parts.tm_hour, parts.tm_min,
                              parts.tm_sec));
  });
}

}  // namespace
}  // namespace idleburn
