#include "import/units.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace idleburn {
namespace {

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
