#include "profile/trace_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "support/property.h"

namespace idleburn {
namespace {

std::int64_t Ns(const std::string& micros) {
  const std::optional<TraceNs> time = TraceMicrosToNs(micros);
  EXPECT_TRUE(time) << micros;
  return time.value_or(TraceNs()).ns;
}

TEST(TraceTimeTest, KeepsDigitsThatADoubleLoses) {
  const std::string micros = "1712195495519761.132";
  EXPECT_EQ(Ns(micros), 1712195495519761132);
  EXPECT_NE(static_cast<std::int64_t>(std::llround(std::strtod(micros.c_str(), nullptr) * 1000)), 1712195495519761132);
}

TEST(TraceTimeTest, ReadsEveryForm) {
  EXPECT_EQ(Ns("0"), 0);
  EXPECT_EQ(Ns("68.0"), 68000);
  EXPECT_EQ(Ns("68."), 68000);
  EXPECT_EQ(Ns("-0.25"), -250);
  EXPECT_EQ(Ns("1623143089861000"), 1623143089861000000);
  EXPECT_EQ(Ns("4458676522690.655"), 4458676522690655);
  EXPECT_EQ(Ns("1.5e2"), 150000);
  EXPECT_EQ(Ns("000000000000000000001.5"), 1500);
  for (const char* text : {"", "NaN", "null", "-", ".", "1.2.3", "12a", "Infinity", "2305843009213694", "1e30",
                           "9999999999999999", "162314262342623460016", "99999999999999999999999999999.5"}) {
    EXPECT_FALSE(TraceMicrosToNs(text)) << text;
  }
  EXPECT_EQ(Ns("2305843009213693.952"), std::int64_t{1} << 61);
  EXPECT_EQ(Ns("-2305843009213693.952"), -(std::int64_t{1} << 61));
  EXPECT_FALSE(TraceMicrosToNs("2305843009213693.953"));
  EXPECT_FALSE(TraceMicrosToNs("-2305843009213693.953"));
}

TEST(TraceTimeTest, SaysWhatItRounded) {
  EXPECT_EQ(Ns("1.0005"), 1001);
  EXPECT_EQ(Ns("1.00049999"), 1000);
  EXPECT_EQ(Ns("-1.0005"), -1001);
  EXPECT_TRUE(TraceMicrosToNs("1.0005")->rounded);
  EXPECT_TRUE(TraceMicrosToNs("1.5e2")->rounded);
  EXPECT_FALSE(TraceMicrosToNs("1.00100000")->rounded);
  EXPECT_FALSE(TraceMicrosToNs("17.125")->rounded);
}

void PrintedNanosecondsComeBack() {
  const std::int64_t limit = std::int64_t{1} << 61;
  const std::int64_t ns = *rc::gen::inRange<std::int64_t>(-limit, limit) >> *rc::gen::inRange(0, 61);
  const std::string digits = std::to_string(std::abs(ns));
  const std::string padded = std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
  std::string text = padded.substr(0, padded.size() - 3) + "." + padded.substr(padded.size() - 3);
  if (ns < 0) text.insert(0, "-");
  text.append(*rc::gen::inRange<std::size_t>(0, 4), '0');
  const std::optional<TraceNs> time = TraceMicrosToNs(text);
  RC_ASSERT(time && time->ns == ns && !time->rounded);
}
TEST(TraceTimeTest, AnyNanosecondSurvivesPrinting) {
  test::ExpectProperty("printed nanoseconds come back", PrintedNanosecondsComeBack);
}

}  // namespace
}  // namespace idleburn
