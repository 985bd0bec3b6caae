#include "text/split.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace idleburn {
namespace {

using Parts = std::vector<std::string_view>;

TEST(SplitTest, PartsAreTrimmedAndMayBeEmpty) {
  EXPECT_EQ(Split("a, b c ,d", ','), (Parts{"a", "b c", "d"}));
  EXPECT_EQ(Split(",a,,", ','), (Parts{"", "a", "", ""}));
  EXPECT_EQ(Split("a,b", '|'), (Parts{"a,b"}));
  EXPECT_EQ(Split("", ','), (Parts{""}));
}

TEST(SplitTest, AListTextIsOfPartsOrOfWhatIsSaidOfThem) {
  EXPECT_EQ(ListText(std::vector<std::string>{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(ListText(Parts{}), "");
  const std::map<int, std::string> named = {{1, "x"}, {2, "y"}};
  EXPECT_EQ(ListText(named, ";", &std::pair<const int, std::string>::second), "x;y");
  EXPECT_EQ(ListText(std::array{3, 4}, "+", [](int i) { return std::to_string(i); }), "3+4");
}

}  // namespace
}  // namespace idleburn
