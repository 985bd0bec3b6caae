#include "os/digest.h"

#include <gtest/gtest.h>

namespace idleburn {

namespace {

// The check value of CRC-32/ISO-HDLC.
TEST(ChecksumTest, IsTheUsualCrc32) {
  EXPECT_EQ(Crc32("123456789"), 0xCBF43926U);
  EXPECT_EQ(Crc32(""), 0U);
}

TEST(ChecksumTest, GoesOnWhereItStopped) { EXPECT_EQ(Crc32("6789", Crc32("12345")), 0xCBF43926U); }

// The examples of FIPS 180-2, appendix B.
TEST(Sha256Test, GivesThePublishedDigests) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256Test, PiecesDoNotMatter) {
  Sha256 hash;
  for (int i = 0; i < 1000; ++i) hash.Add(std::string(1000, 'a'));
  EXPECT_EQ(hash.Hex(), Sha256Hex(std::string(1'000'000, 'a')));
}

TEST(Sha256Test, AFileThatIsNotThereIsNamed) {
  const Result<std::string> hash = Sha256OfFile("/proc/nowhere/at/all");
  ASSERT_FALSE(hash.has_value());
  EXPECT_NE(hash.error().message.find("/proc/nowhere/at/all"), std::string::npos);
}

}  // namespace

}  // namespace idleburn
