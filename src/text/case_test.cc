#include "text/case.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(CaseTest, IsOfLettersOnly) {
  EXPECT_EQ(Lower("@[GPU 0z\xC3\x84"), "@[gpu 0z\xC3\x84");
  EXPECT_TRUE(StartsWithIgnoreCase("MIG-GPU-0a", "mig-gpu"));
  EXPECT_FALSE(StartsWithIgnoreCase("MIG", "mig-"));
  EXPECT_FALSE(StartsWithIgnoreCase("@a", "`"));  // differ by the case bit, are no letters
  EXPECT_TRUE(StartsWithIgnoreCase("", ""));
}

}  // namespace
}  // namespace idleburn
