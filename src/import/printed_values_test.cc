#include "import/printed_values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "import/device_facts.h"
#include "support/import_run.h"

namespace idleburn {
namespace {

std::string Utc(std::string_view text) {
  const std::optional<CivilTime> t = ParseCtime(text);
  return t ? FormatRfc3339(InUtc(*t)) : "none";
}

TEST(Stamp, ReadsTheTimeOfCtime) {
  EXPECT_EQ(Utc("Mon Apr 24 16:11:51 2023"), "2023-04-24T16:11:51Z");
  EXPECT_EQ(Utc("Tue Sep  1 08:00:05 2026"), "2026-09-01T08:00:05Z");
  EXPECT_EQ(Utc("Thu Feb 29 23:59:59 2024"), "2024-02-29T23:59:59Z");
}

TEST(Stamp, RefusesWhatIsNone) {
  for (const char* text : {"", "N/A", "Still Running", "Mon Foo 24 16:11:51 2023", "Wed Feb 30 16:11:51 2023",
                           "Mon Apr 24 16:11:51 2023 CET", "Mon Apr 24 16:11 2023", "Mon Apr -4 16:11:51 2023",
                           "Mon Apr 24 25:11:51 2023", "2023-04-24 16:11:51"}) {
    EXPECT_EQ(Utc(text), "none") << text;
  }
}

TEST(Stamp, TheZoneIsTheUsersOrCountedOnce) {
  const std::optional<CivilTime> local = ParseCtime("Sun Oct 25 02:30:00 2026");
  ASSERT_TRUE(local);
  DataQuality quality;
  const std::string file = "log";
  const ImportOptions none;
  StampClock utc(none, quality, file);
  EXPECT_EQ(FormatRfc3339(utc.At(*local, false, 7)), "2026-10-25T02:30:00Z");
  utc.At(*local, false, 8);
  EXPECT_EQ(quality.CountOf(QualityId::kTimezoneAssumed), 1);
  EXPECT_EQ(quality.Get(QualityId::kTimezoneAssumed).first_place, "log:7");

  ImportOptions berlin;
  berlin.timezone = *TimeZone::Load("Europe/Berlin");
  StampClock zoned(berlin, quality, file);
  EXPECT_EQ(FormatRfc3339(zoned.At(*local, false, 9)), "2026-10-25T00:30:00Z") << "summer time, the first meaning";
  EXPECT_EQ(quality.CountOf(QualityId::kTimezoneAmbiguous), 1);
  EXPECT_EQ(quality.CountOf(QualityId::kTimezoneAssumed), 1);
}

TEST(Stamp, TheRepeatedHourIsToldByTheOrderOfRows) {
  ImportOptions berlin;
  berlin.timezone = *TimeZone::Load("Europe/Berlin");
  DataQuality quality;
  const std::string file = "log";
  StampClock clock(berlin, quality, file);
  const auto at = [&](const char* time) {
    return FormatRfc3339(clock.At(*ParseCtime("Sun Oct 25 " + std::string(time) + " 2026"), false, 1)).substr(11, 8);
  };
  EXPECT_EQ(at("02:00:00"), "00:00:00");
  EXPECT_EQ(at("02:30:00"), "00:30:00");
  EXPECT_EQ(at("02:59:59"), "00:59:59");
  EXPECT_EQ(at("02:00:00"), "01:00:00");
  EXPECT_EQ(at("02:00:00"), "01:00:00") << "another GPU of the sweep";
  EXPECT_EQ(at("02:00:01"), "01:00:01");
  EXPECT_EQ(at("02:00:00"), "01:00:00") << "a little late";
  EXPECT_EQ(at("02:25:00"), "01:25:00");
  EXPECT_EQ(at("02:50:00"), "01:50:00");
  EXPECT_EQ(at("03:00:00"), "02:00:00");
}

// Real times go on where a log pauses within the repeated hour, before it, or in a zone that repeats half an hour.
TEST(Stamp, PausesInTheRepeatedHourDoNotTurnTimeBack) {
  struct Case {
    const char* zone;
    std::vector<const char*> stamps;  // local
    std::vector<const char*> utc;
  };
  const std::vector<Case> cases = {
      {"Europe/Berlin",
       {"2026-10-25 02:59:50", "2026-10-25 02:36:00", "2026-10-25 02:36:10"},
       {"00:59:50", "01:36:00", "01:36:10"}},
      {"Europe/Berlin",
       {"2026-10-25 02:59:50", "2026-10-25 02:00:00", "2026-10-25 02:58:00"},
       {"00:59:50", "01:00:00", "01:58:00"}},
      {"Europe/Berlin",
       {"2026-10-25 02:40:00", "2026-10-25 02:20:00", "2026-10-25 03:00:00"},
       {"00:40:00", "01:20:00", "02:00:00"}},
      {"Europe/Berlin",
       {"2026-10-25 02:10:00", "2026-10-25 02:09:59", "2026-10-25 02:10:01"},
       {"00:10:00", "00:09:59", "00:10:01"}},  // a row of the sweep before
      {"Australia/Lord_Howe",
       {"2026-04-05 01:59:50", "2026-04-05 01:30:00", "2026-04-05 01:45:00"},
       {"14:59:50", "15:00:00", "15:15:00"}},
  };
  for (const Case& c : cases) {
    ImportOptions options;
    options.timezone = *TimeZone::Load(c.zone);
    DataQuality quality;
    const std::string file = "log";
    StampClock clock(options, quality, file);
    for (std::size_t i = 0; i < c.stamps.size(); ++i) {
      std::string_view rest = c.stamps[i];
      CivilTime local;
      bool zoned = false;
      ASSERT_TRUE(TakeCivilTime(rest, &local, &zoned));
      EXPECT_EQ(FormatRfc3339(clock.At(local, false, 1)).substr(11, 8), c.utc[i]) << c.zone << " " << c.stamps[i];
    }
  }
}

TEST(Stamp, MaskedUuidsAreCountedOncePerDevice) {
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  struct : SampleSink {
    void OnSamples(std::span<const Sample> /*samples*/) override {}
  } sink;
  ImportTarget target{devices, quality, owners, sink};
  DeviceKey key;
  key.uuid = "GPU-00000000-0000-0000-0000-000000000000";
  key.bus_id = "00000000:83:00.0";
  EnterDevice(key, target, {});
  EnterDevice(key, target, {});
  key.bus_id = "00000000:84:00.0";
  EnterDevice(key, target, {});
  EXPECT_EQ(devices.size(), 2U);
  EXPECT_EQ(quality.CountOf(QualityId::kMaskedUuid), 2);
}

TEST(Stamp, AnAssumedTimeNeverWraps) {
  ImportOptions options;
  EXPECT_EQ(AssumedTime(options, 7).nanos(), 7 * kNanosPerSecond);
  options.period = Nanos(INT64_MAX / 2);
  EXPECT_GT(AssumedTime(options, 3).nanos(), 0);
}

TEST(Units, NumbersMayHaveAnExponentAndWordsAUnit) {
  EXPECT_EQ(ReadQuantity("1.5e2 W", Unit::kMilliwatt, "").value, 150'000);
  EXPECT_EQ(ReadQuantity("2E+3", Unit::kMilliwatt, "mW").value, 2000);
  EXPECT_EQ(ReadQuantity("1e30 %", Unit::kMicroPercent, "").issue, QualityId::kOutOfRange);
  EXPECT_EQ(ReadQuantity("inf %", Unit::kMicroPercent, "").issue, QualityId::kNotFinite);
  EXPECT_EQ(ReadQuantity("-NaN W", Unit::kMilliwatt, "").issue, QualityId::kNotFinite);
  EXPECT_EQ(ReadQuantity("1e W", Unit::kMilliwatt, "").issue, QualityId::kBadRow);
}

TEST(Units, ValuesWithUnits) {
  EXPECT_EQ(ReadQuantity("65 %", Unit::kMicroPercent, "").value, 65'000'000);
  EXPECT_EQ(ReadQuantity("6.5%", Unit::kMicroPercent, "").value, 6'500'000);
  EXPECT_EQ(ReadQuantity("142.33 W", Unit::kMilliwatt, "").value, 142'330);
  EXPECT_EQ(ReadQuantity("614 MiB", Unit::kByte, "").value, 643'825'664);
  EXPECT_EQ(ReadQuantity("345 MHz", Unit::kKilohertz, "").value, 345'000);
  EXPECT_EQ(ReadQuantity("1000 KB/s", Unit::kBytePerSecond, "").value, 1'000'000);
  EXPECT_EQ(ReadQuantity("27 C", Unit::kMillicelsius, "").value, 27'000);
  EXPECT_EQ(ReadQuantity("0x0000000000000044", Unit::kMask, "").value, 0x44);
  EXPECT_EQ(ReadQuantity("1500 Hz", Unit::kKilohertz, "").value, 2) << "half to even";
}

TEST(Units, BareNumbersTakeTheUnitOfTheSource) {
  EXPECT_EQ(ReadQuantity("631", Unit::kMilliwatt, "W").value, 631'000);
  EXPECT_EQ(ReadQuantity("15891103744", Unit::kByte, "B").value, 15'891'103'744);
  EXPECT_EQ(ReadQuantity("217", Unit::kBytePerSecond, "MB/s").value, 217'000'000);
  EXPECT_EQ(ReadQuantity("3", Unit::kCount, "").value, 3);
  EXPECT_FALSE(ReadQuantity("631", Unit::kMilliwatt, "").value) << "no unit is no power";
}

TEST(Units, AWrongUnitIsNoValue) {
  EXPECT_EQ(ReadQuantity("65 W", Unit::kMicroPercent, "%").issue, QualityId::kBadRow);
  EXPECT_EQ(ReadQuantity("12 furlongs", Unit::kMilliwatt, "W").issue, QualityId::kBadRow);
  EXPECT_EQ(ReadQuantity("1.2.3 W", Unit::kMilliwatt, "W").issue, QualityId::kBadRow);
}

TEST(Units, EverySpellingOfNoValue) {
  const std::pair<std::string_view, Unobserved> kSpellings[] = {
      {"[N/A]", Unobserved::kUnsupported},
      {"N/A", Unobserved::kUnsupported},
      {"[Not Supported]", Unobserved::kUnsupported},
      {"Not Supported", Unobserved::kUnsupported},
      {"[Unknown Error]", Unobserved::kSentinel},
      {"[Insufficient Permissions]", Unobserved::kPermission},
      {"[Requested functionality has been deprecated]", Unobserved::kUnsupported},
      {"[GPU requires reset]", Unobserved::kSentinel},
      {"[Something newer]", Unobserved::kSentinel},
      {"ERR!", Unobserved::kSentinel},
      {"-", Unobserved::kUnsupported},
      {"", Unobserved::kSentinel},
      {"NA", Unobserved::kUnsupported},
      {"null", Unobserved::kUnsupported},
      {"unsupported", Unobserved::kUnsupported},
      {"Not Permitted", Unobserved::kPermission},
      {"Unknown", Unobserved::kSentinel},
  };
  for (const auto& [text, why] : kSpellings) {
    const Quantity q = ReadQuantity(text, Unit::kMilliwatt, "W");
    EXPECT_FALSE(q.value) << text;
    EXPECT_EQ(q.why, why) << text;
    EXPECT_EQ(q.issue, QualityId::kUnavailableValue) << text;
  }
  EXPECT_FALSE(WhyUnavailable("0"));
}

TEST(Units, ImpossibleReadingsAreUnobserved) {
  EXPECT_EQ(ReadQuantity("100.5 %", Unit::kMicroPercent, "").value, kFull);
  EXPECT_EQ(ReadQuantity("-0.5 %", Unit::kMicroPercent, "").value, 0);
  EXPECT_EQ(ReadQuantity("100.6 %", Unit::kMicroPercent, "").issue, QualityId::kOutOfRange);
  EXPECT_EQ(ReadQuantity("-1 %", Unit::kMicroPercent, "").issue, QualityId::kOutOfRange);
  EXPECT_EQ(ReadQuantity("4294967295 %", Unit::kMicroPercent, "").issue, QualityId::kOutOfRange);
  EXPECT_EQ(ReadQuantity("17592186044415 MiB", Unit::kByte, "").issue, QualityId::kOutOfRange);
  EXPECT_EQ(ReadQuantity("9223372036854775794", Unit::kByte, "B").issue, QualityId::kOutOfRange);
  EXPECT_EQ(ReadQuantity("-5 W", Unit::kMilliwatt, "").issue, QualityId::kOutOfRange);
  EXPECT_EQ(ReadQuantity("nan", Unit::kMilliwatt, "W").issue, QualityId::kNotFinite);
}

TEST(Units, PutCountsWhatIsMissing) {
  Sample sample;
  DataQuality quality;
  EXPECT_TRUE(PutQuantity(Signal::kPower, "70 W", "W", &sample, quality, {}));
  EXPECT_FALSE(PutQuantity(Signal::kUtilization, "[N/A]", "%", &sample, quality, {}));
  EXPECT_EQ(sample.Get(Signal::kPower), 70'000);
  EXPECT_FALSE(sample.Has(Signal::kUtilization));
  EXPECT_TRUE(sample.Lacks(Signal::kUtilization));
  EXPECT_EQ(sample.reason, Unobserved::kUnsupported);
  EXPECT_EQ(quality.CountOf(QualityId::kUnavailableValue), 1);
}

RC_GTEST_PROP(Units, HundredthsOfAWattAreExact, ()) {
  const auto centiwatts = *rc::gen::inRange<std::int64_t>(0, 10'000'000);
  const std::string text = std::to_string(centiwatts / 100) + "." + std::to_string(centiwatts / 10 % 10) +
                           std::to_string(centiwatts % 10) + " W";
  RC_ASSERT(ReadQuantity(text, Unit::kMilliwatt, "").value == centiwatts * 10);
}

RC_GTEST_PROP(Units, NoTextCrashes, (const std::string& text)) {
  for (const Unit unit : {Unit::kMicroPercent, Unit::kByte, Unit::kMask, Unit::kKilohertz}) {
    const Quantity q = ReadQuantity(text, unit, "%");
    RC_ASSERT(!q.value || *q.value >= 0);
  }
}

}  // namespace

}  // namespace idleburn
