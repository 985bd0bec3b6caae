#include "tco/figures.h"

#include <gtest/gtest.h>

namespace idleburn {

// Exact numbers, read and written again.

namespace {

TEST(DecimalTest, IsWrittenAsItWasRead) {
  for (const char* text :
       {"0", "0.5", "2", "2.000000001", "9223372037", "15000000000000.25", "999999999999999999999999"}) {
    EXPECT_EQ(DecimalText(ParseDecimal(text).value()), text);
  }
  EXPECT_EQ(DecimalText(ParseDecimal("35%").value()), "0.35");
}

TEST(DecimalTest, RoundsToABillionthAndCarries) {
  EXPECT_EQ(DecimalText(Fraction::Of(20'000'000'000, 3)), "6666666666.666666667");
  EXPECT_EQ(DecimalText(ParseDecimal("99999999999.9999999996").value()), "100000000000");
  EXPECT_EQ(DecimalText(ParseDecimal("1.0000000005").value()), "1");
}

}  // namespace

}  // namespace idleburn
