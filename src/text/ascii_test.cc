#include "text/ascii.h"

#include <gtest/gtest.h>

#include <cctype>

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

}  // namespace
}  // namespace idleburn
