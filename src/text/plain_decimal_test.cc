#include "text/plain_decimal.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

namespace idleburn {
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
}  // namespace idleburn
