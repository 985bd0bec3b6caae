#include "text/strings.h"

#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <map>

namespace idleburn {

namespace {

// The C library's own classes, in the "C" locale, in which every program begins.
TEST(AsciiTest, EveryByteIsInTheClassesOfTheCLibrary) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(IsDigit(c), std::isdigit(byte) != 0) << byte;
    EXPECT_EQ(IsLower(c), std::islower(byte) != 0) << byte;
    EXPECT_EQ(IsUpper(c), std::isupper(byte) != 0) << byte;
    EXPECT_EQ(IsLetter(c), std::isalpha(byte) != 0) << byte;
    EXPECT_EQ(IsAlnum(c), std::isalnum(byte) != 0) << byte;
  }
}

TEST(CaseTest, IsOfLettersOnly) {
  EXPECT_EQ(Lower("@[GPU 0z\xC3\x84"), "@[gpu 0z\xC3\x84");
  EXPECT_TRUE(StartsWithIgnoreCase("MIG-GPU-0a", "mig-gpu"));
  EXPECT_FALSE(StartsWithIgnoreCase("MIG", "mig-"));
  EXPECT_FALSE(StartsWithIgnoreCase("@a", "`"));  // differ by the case bit, are no letters
  EXPECT_TRUE(StartsWithIgnoreCase("", ""));
}

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
