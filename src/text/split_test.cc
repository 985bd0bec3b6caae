#include "text/split.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

using Parts = std::vector<std::string_view>;

TEST(SplitTest, PartsAreTrimmedAndMayBeEmpty) {
  EXPECT_EQ(Split("a, b c ,d", ','), (Parts{"a", "b c", "d"}));
  EXPECT_EQ(Split(",a,,", ','), (Parts{"", "a", "", ""}));
  EXPECT_EQ(Split("a,b", '|'), (Parts{"a,b"}));
  EXPECT_EQ(Split("", ','), (Parts{""}));
}

}  // namespace
}  // namespace idleburn
