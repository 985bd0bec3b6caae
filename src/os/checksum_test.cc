#include "os/checksum.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

// The check value of CRC-32/ISO-HDLC.
TEST(ChecksumTest, IsTheUsualCrc32) {
  EXPECT_EQ(Crc32("123456789"), 0xCBF43926U);
  EXPECT_EQ(Crc32(""), 0U);
}

TEST(ChecksumTest, GoesOnWhereItStopped) { EXPECT_EQ(Crc32("6789", Crc32("12345")), 0xCBF43926U); }

}  // namespace
}  // namespace idleburn
