#include "config/flag_values.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(FlagValuesTest, AShareAboveOneIsAskedBackInBothForms) {
  EXPECT_EQ(FlagShare("claim", "--predicted", "28%").value(), 0.28);
  EXPECT_EQ(FlagShare("claim", "--predicted", "28").error().message,
            "claim: --predicted 28 is not a share below 1; write 28% or 0.28");
  EXPECT_EQ(FlagShare("claim", "--predicted", "many").error().message,
            "claim: --predicted 'many' is not a share below 1; write 0.05 or 5%");
}

}  // namespace
}  // namespace idleburn
