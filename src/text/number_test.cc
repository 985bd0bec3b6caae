#include "text/number.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "support/property.h"

namespace idleburn {

bool operator==(const ScaledNumber& a, const ScaledNumber& b) { return a.value == b.value && a.fault == b.fault; }
std::ostream& operator<<(std::ostream& out, const ScaledNumber& n) {
  return out << n.value << " fault " << static_cast<int>(n.fault);
}

namespace {

constexpr ScaledNumber kNoNumber = {0, NumberFault::kNotANumber};
constexpr ScaledNumber kTooLarge = {0, NumberFault::kTooLarge};

ScaledNumber Value(std::int64_t v) { return {v, NumberFault::kNone}; }

TEST(NumberTest, ScalesDecimalText) {
  EXPECT_EQ(ParseScaled("12.5", 3), Value(12'500));
  EXPECT_EQ(ParseScaled("68.11", 3), Value(68'110));
  EXPECT_EQ(ParseScaled("2.0780679168e+10", 0), Value(20'780'679'168));
  EXPECT_EQ(ParseScaled("2.0780679168E10", 0), Value(20'780'679'168));
  EXPECT_EQ(ParseScaled("-0", 3), Value(0));
  EXPECT_EQ(ParseScaled("+7", 0), Value(7));
  EXPECT_EQ(ParseScaled(".5", 1), Value(5));
  EXPECT_EQ(ParseScaled("5.", 1), Value(50));
  EXPECT_EQ(ParseScaled("0.9999999999999999", 6), Value(1'000'000));
  EXPECT_EQ(ParseScaled("9223372036854775807", 0), Value(INT64_MAX));
  EXPECT_EQ(ParseScaled("9223372036854775807.4999", 0), Value(INT64_MAX));
}

TEST(NumberTest, RoundsHalfAwayFromZero) {
  EXPECT_EQ(ParseScaled("0.5", 0), Value(1));
  EXPECT_EQ(ParseScaled("-0.5", 0), Value(-1));
  EXPECT_EQ(ParseScaled("0.05", 0), Value(0));
  EXPECT_EQ(ParseScaled("0.49999999999999999999999999999999999", 0), Value(0));
  EXPECT_EQ(ParseScaled("1.0005", 3), Value(1'001));
  EXPECT_EQ(ParseScaled("5e-1", 0), Value(1));
  EXPECT_EQ(ParseScaled("5e-2", 0), Value(0));
}

TEST(NumberTest, SaysWhatIsWrong) {
  for (const std::string_view text : {"nan", "NaN", "-nan", "+NaN", "Inf", "+Inf", "-inf", "Infinity"}) {
    EXPECT_EQ(ParseScaled(text, 3).fault, NumberFault::kNotFinite) << text;
  }
  for (const std::string_view text : {"",   "-",  "+",   ".",    "e5",    "1e",  "1e+", "1e+-5", "1e--5", "1e5.0",
                                      "1 ", " 1", "1,5", "0x1F", "1.2.3", "--1", "N/A", "1e5x",  "12 %",  "nano"}) {
    EXPECT_EQ(ParseScaled(text, 3), kNoNumber) << text;
  }
  EXPECT_EQ(ParseScaled("9223372036854775808", 0), kTooLarge);
  EXPECT_EQ(ParseScaled("9223372036854775807.5", 0), kTooLarge);
  EXPECT_EQ(ParseScaled("9223372036854775807", 1), kTooLarge);
  EXPECT_EQ(ParseScaled("1.8446744073709552e+19", 0), kTooLarge);  // DCGM's "blank" as a double
}

TEST(NumberTest, ExponentsHaveNoLimit) {
  EXPECT_EQ(ParseScaled("1e999", 0), kTooLarge);
  EXPECT_EQ(ParseScaled("1e-999", 0), Value(0));
  EXPECT_EQ(ParseScaled("1e99999999999999999999", 0), kTooLarge);
  EXPECT_EQ(ParseScaled("1e-99999999999999999999", 0), Value(0));
  EXPECT_EQ(ParseScaled("0e99999999999999999999", 9), Value(0));
  EXPECT_EQ(ParseScaled("1" + std::string(500, '0') + "e-500", 0), Value(1));
  EXPECT_EQ(ParseScaled("0." + std::string(500, '0') + "1e+501", 0), Value(1));
}

// The same by hand on decimal strings: move the point, cut, look at the first digit cut off.
ScaledNumber ByHand(bool negative, const std::string& whole, const std::string& part, int exponent, int decimals) {
  std::string digits = whole + part;
  std::int64_t point = static_cast<std::int64_t>(whole.size()) + exponent + decimals;
  if (point < 0) {
    digits.insert(0, static_cast<std::size_t>(-point), '0');
    point = 0;
  }
  if (point >= static_cast<std::int64_t>(digits.size()))
    digits.append(static_cast<std::size_t>(point) - digits.size() + 1, '0');
  const bool up = digits[static_cast<std::size_t>(point)] >= '5';
  digits.resize(static_cast<std::size_t>(point));
  digits.insert(0, 1, '0');
  if (up) {
    std::size_t i = digits.size() - 1;
    while (digits[i] == '9') digits[i--] = '0';
    ++digits[i];
  }
  digits.erase(0, digits.find_first_not_of('0'));
  const std::string largest = std::to_string(INT64_MAX);
  if (digits.size() > largest.size() || (digits.size() == largest.size() && digits > largest)) return kTooLarge;
  const std::int64_t value = digits.empty() ? 0 : std::stoll(digits);
  return Value(negative ? -value : value);
}

TEST(NumberTest, AgreesWithDecimalArithmeticByHand) {
  const auto check = [](std::size_t most_digits, int most_exponent) {
    const auto digits = rc::gen::container<std::string>(rc::gen::elementOf(std::string("00123456789995")));
    const std::string whole = (*digits).substr(0, most_digits);
    const std::string part = (*digits).substr(0, most_digits);
    RC_PRE(!whole.empty() || !part.empty());
    const int exponent = *rc::gen::inRange(-most_exponent, most_exponent + 1);
    const int decimals = *rc::gen::inRange(0, 10);
    const bool negative = *rc::gen::arbitrary<bool>();
    std::string text = (negative ? "-" : "") + whole;
    if (!part.empty() || *rc::gen::arbitrary<bool>()) text += "." + part;
    if (exponent != 0) text += "e" + std::string(exponent > 0 ? "+" : "") + std::to_string(exponent);
    const ScaledNumber expected = ByHand(negative, whole, part, exponent, decimals);
    RC_ASSERT(ParseScaled(text, decimals) == expected);
  };
  test::ExpectProperty("near the limits of 64 bits", [&] { check(20, 3); });
  test::ExpectProperty("anywhere", [&] { check(60, 70); });
}

TEST(NumberTest, ReadsIntegersAndMasks) {
  EXPECT_EQ(ParseInteger("-12"), -12);
  EXPECT_EQ(ParseInteger("9223372036854775807"), INT64_MAX);
  for (const std::string_view text : {"", "-", "+1", "1.0", "1 ", "9223372036854775808", "0x10"}) {
    EXPECT_FALSE(ParseInteger(text)) << text;
  }
  EXPECT_EQ(ParseMask("0x0000000000000044"), 0x44U);
  EXPECT_EQ(ParseMask("68"), 68U);
  EXPECT_EQ(ParseMask("0XfF"), 255U);
  EXPECT_EQ(ParseMask("0xFFFFFFFFFFFFFFFF"), UINT64_MAX);
  for (const std::string_view text : {"", "0x", "-1", "0x-1", "0x1FFFFFFFFFFFFFFFF", "44h"}) {
    EXPECT_FALSE(ParseMask(text)) << text;
  }
}

TEST(NumberTest, TrimsAndCompares) {
  EXPECT_EQ(Trim(" \t a b \r"), "a b");
  EXPECT_EQ(Trim(" \t\r"), "");
  EXPECT_TRUE(EqualsIgnoreCase("GPU-0a", "gpu-0A"));
  EXPECT_FALSE(EqualsIgnoreCase("gpu", "gpu0"));
  EXPECT_FALSE(EqualsIgnoreCase("@", "`"));  // differ by the case bit, are no letters
}

}  // namespace

namespace {

TEST(PlainDecimalTest, AnExponentMovesThePoint) {
  EXPECT_EQ(PlainDecimal("35.2E-7"), "0.00000352");
  EXPECT_EQ(PlainDecimal("1e3"), "1000");
  EXPECT_EQ(PlainDecimal("-1.25e+1"), "-12.5");
  EXPECT_EQ(PlainDecimal("120e-2"), "1.20");
}

// The C library reads both writings as the same number.
TEST(PlainDecimalTest, IsTheSameNumber) {
  for (const char* mantissa : {"7", "0.5", "12.75", "-300.001", "00.10", "9."}) {
    for (int exponent = -12; exponent <= 12; ++exponent) {
      const std::string text = mantissa + std::string("E") + std::to_string(exponent);
      const std::string plain = PlainDecimal(text);
      EXPECT_EQ(plain.find('E'), std::string::npos) << text;
      EXPECT_DOUBLE_EQ(std::strtod(plain.c_str(), nullptr), std::strtod(text.c_str(), nullptr)) << text;
    }
  }
}

TEST(PlainDecimalTest, WhatIsNoSuchNumberStaysAsItIs) {
  for (const char* text : {"", "12.50", "e", "1e", "E5", "1e99", "1e4x", "1.2.3e4", "one", "-e3", "1e+-3"}) {
    EXPECT_EQ(PlainDecimal(text), text);
  }
}

}  // namespace

namespace {

TEST(ByteSizeTest, ReadsBothKindsOfUnits) {
  EXPECT_EQ(ParseByteSize("256MiB"), 256 * 1024 * 1024);
  EXPECT_EQ(ParseByteSize("1.5GB"), 1'500'000'000);
  EXPECT_EQ(ParseByteSize("2 KiB"), 2048);
  EXPECT_EQ(ParseByteSize("4096"), 4096);
  EXPECT_EQ(ParseByteSize("7B"), 7);
  EXPECT_EQ(ParseByteSize("1TiB"), std::int64_t{1} << 40);
}

TEST(ByteSizeTest, RefusesWhatIsNone) {
  for (const char* text : {"", "MiB", "-1MiB", "0", "0.0001kB", "lots", "5 parsecs", "99999999999TiB", "nanB"}) {
    EXPECT_FALSE(ParseByteSize(text)) << text;
  }
}

}  // namespace

namespace {

TEST(DurationTest, ReadsUnits) {
  EXPECT_EQ(ParseDuration("100ms").value(), Nanos(100'000'000));
  EXPECT_EQ(ParseDuration("5s").value(), Nanos(5'000'000'000));
  EXPECT_EQ(ParseDuration("2.5m").value(), Nanos(150'000'000'000));
  EXPECT_EQ(ParseDuration("48h").value(), Nanos(48 * kNanosPerHour));
  EXPECT_EQ(ParseDuration("0.1078s").value(), Nanos(107'800'000));
  for (const char* bad : {"", "5", "s", "-1s", "0s", "5 parsecs", "1e30d", "nans"})
    EXPECT_FALSE(ParseDuration(bad)) << bad;
}

}  // namespace

namespace {

TEST(Share, APercentSignDividesByAHundred) {
  EXPECT_EQ(ParseShare(".35"), 0.35);
  EXPECT_EQ(ParseShare("35%"), 0.35);
  EXPECT_EQ(ParseShare(" 95 % "), 0.95);
  EXPECT_EQ(ParseShare("-2"), -2.0);
}

TEST(Share, WhatIsNoNumberIsNone) {
  for (const char* text : {"", "%", "a third", "1/3", "5%%", "nan", "inf", "1e300"}) {
    EXPECT_FALSE(ParseShare(text)) << text;
  }
}

}  // namespace

}  // namespace idleburn
