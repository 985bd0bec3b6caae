#include "text/ascii_only.h"

#include <gtest/gtest.h>

#include "text/table.h"

namespace idleburn {
namespace {

TEST(AsciiOnlyTest, DrawsWhatBlocksDraw) {
  EXPECT_EQ(AsciiOnly("GPU 0  ·▁▒▃▅█╳"), "GPU 0  ._%-=#x");
  EXPECT_EQ(AsciiOnly("41.41 %  ████████▎"), "41.41 %  ######## ");
  EXPECT_EQ(AsciiOnly("a long na…"), "a long na~");
  EXPECT_EQ(AsciiOnly("0.8 kWh ± 5 %\n"), "0.8 kWh +- 5 %\n");
}

TEST(AsciiOnlyTest, KeepsColumnsWhateverTheName) {
  for (const char* text : {"plain\x1b[0m", "knöt", "機械", "e\xcc\x81", "\xff", "a\xe2\x96", ""}) {
    const std::string ascii = AsciiOnly(text);
    for (const char c : ascii) EXPECT_LT(static_cast<unsigned char>(c), 0x80) << text;
    EXPECT_EQ(DisplayWidth(ascii), DisplayWidth(text)) << text;
  }
  EXPECT_EQ(AsciiOnly("knöt"), "kn?t");
}

}  // namespace
}  // namespace idleburn
