#include "text/share.h"

#include <gtest/gtest.h>

namespace idleburn {
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

TEST(Share, IsShownInPercentWithOneDecimal) {
  EXPECT_EQ(PercentText(0.348), "34.8 %");
  EXPECT_EQ(PercentText(1), "100.0 %");
  EXPECT_EQ(PercentText(-0.0314), "-3.1 %");
  EXPECT_EQ(PercentText(-0.0004), "0.0 %");
  EXPECT_EQ(PercentText(-0.0), "0.0 %");
}

}  // namespace
}  // namespace idleburn
