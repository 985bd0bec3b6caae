#include "text/spelling.h"

#include <gtest/gtest.h>

#include <vector>

namespace idleburn {
namespace {

TEST(SpellingTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("price", "pirce"), 1U);
  EXPECT_EQ(EditDistance("same", "same"), 0U);
}

TEST(SpellingTest, FindsTheNearest) {
  const std::vector<std::string> flags = {"--prices", "--period", "--price"};
  EXPECT_EQ(NearestSpelling("--prise", flags), "--price");
  EXPECT_EQ(NearestSpelling("x", std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace idleburn
