#include "audit/gate.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(GateTest, ALimitInPerCentMaySayItsSign) {
  for (const char* text : {"waste>20%", "waste>20", "unobserved>20%", "cost>20"}) {
    const auto gates = ParseGates({text});
    ASSERT_TRUE(gates) << text;
    EXPECT_EQ(gates->front().limit, Money::Cents(20'00)) << text;
  }
  for (const char* text : {"cost>20%", "waste>%", "waste>20%%", "waste20%"}) EXPECT_FALSE(ParseGates({text})) << text;
}

}  // namespace
}  // namespace idleburn
