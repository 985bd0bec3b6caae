#include "os/zstd_codec.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(ZstdCodecTest, RoundTripAndRefusal) {
  ZstdPacker packer(3);
  ZstdUnpacker unpacker;
  for (const std::string& text : {std::string(5000, 'a'), std::string("b"), std::string()}) {
    const std::string packed(packer.Pack(text));
    std::string out(text.size(), '\0');
    EXPECT_TRUE(unpacker.Unpack(packed, out));
    EXPECT_EQ(out, text);
    std::string longer(text.size() + 1, '\0');
    EXPECT_FALSE(unpacker.Unpack(packed, longer));
    EXPECT_FALSE(unpacker.Unpack(std::string_view(packed).substr(0, packed.size() - 1), out));
  }
  EXPECT_LT(packer.Pack(std::string(5000, 'a')).size(), 100U);
}

}  // namespace
}  // namespace idleburn
