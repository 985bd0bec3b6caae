#include "bill/focus_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/int128.h"

namespace idleburn {
namespace {

// A decimal text as a count of 10^-18, digit by digit.
Int128 Attos(const std::string& text) {
  Int128 value = 0;
  int decimals = -1;
  for (const char c : text) {
    if (c == '.') {
      decimals = 0;
      continue;
    }
    value = value * 10 + (c - '0');
    if (decimals >= 0) ++decimals;
  }
  for (int i = decimals < 0 ? 0 : decimals; i < 18; ++i) value *= 10;
  return value;
}

TEST(FocusRowsTest, ProductsAreExact) {
  EXPECT_EQ(ProductText(Money::Nano(2'490'000'000), 333'333'300), "0.829999917");
  EXPECT_EQ(ProductText(Money::Nano(2'490'000'000), 1'000'000'000), "2.49");
  EXPECT_EQ(ProductText(Money::Nano(1), 1), "0.000000000000000001");
  EXPECT_EQ(ProductText(Money::Nano(2'000'000'000), 0), "0");
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    const auto price = static_cast<std::int64_t>(random() % 1'000'000'000'000);
    const auto quantity = static_cast<std::int64_t>(random() % 100'000'000'000);
    EXPECT_EQ(Attos(ProductText(Money::Nano(price), quantity)), static_cast<Int128>(price) * quantity);
  }
}

// Prices of cents have products of at most nine decimals, which Money and every reader hold.
TEST(FocusRowsTest, AQuantityLeavesRoomForThePrice) {
  EXPECT_EQ(QuantityStep(Money::Nano(2'000'000'000)), 1);
  EXPECT_EQ(QuantityStep(Money::Nano(2'500'000'000)), 10);
  EXPECT_EQ(QuantityStep(Money::Nano(2'490'000'000)), 100);
  EXPECT_EQ(QuantityStep(Money::Nano(2'499'000'000)), 1000);
  EXPECT_EQ(QuantityStep(Money::Nano(1'234'567'891)), 1000) << "3.6 ms at most";
  for (const std::int64_t nano : {2'000'000'000LL, 2'500'000'000LL, 2'490'000'000LL, 2'499'000'000LL}) {
    const std::int64_t step = QuantityStep(Money::Nano(nano));
    EXPECT_EQ(static_cast<Int128>(nano) * step % 1'000'000'000, Int128{0}) << nano;
  }
}

}  // namespace
}  // namespace idleburn
