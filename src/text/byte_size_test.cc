#include "text/byte_size.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(ByteSizeTest, ReadsBothKindsOfUnits) {
  EXPECT_EQ(ParseByteSize("256MiB"), 256 * 1024 * 1024);
  EXPECT_EQ(ParseByteSize("1.5GB"), 1'500'000'000);
  EXPECT_EQ(ParseByteSize("2 KiB"), 2048);
  EXPECT_EQ(ParseByteSize("4096"), 4096);
  EXPECT_EQ(ParseByteSize("7B"), 7);
  EXPECT_EQ(ParseByteSize("1TiB"), std::int64_t{1} << 40);
}

TEST(ByteSizeTest, RefusesWhatIsNone) {
  for (const char* text : {"", "MiB", "-1MiB", "0", "0.0001kB", "lots", "5 parsecs", "99999999999TiB", "nanB"}) {
    EXPECT_FALSE(ParseByteSize(text)) << text;
  }
}

}  // namespace
}  // namespace idleburn
