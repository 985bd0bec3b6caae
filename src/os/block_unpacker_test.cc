#include "os/block_unpacker.h"

#include <gtest/gtest.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <string>

namespace idleburn {
namespace {

// The libraries' own compressors make the blocks.
std::string Pack(BlockPacking packing, const std::string& text) {
  std::string out(text.size() * 2 + 1024, '\0');
  std::size_t size = out.size();
  if (packing == BlockPacking::kSnappy) {
    EXPECT_EQ(snappy_compress(text.data(), text.size(), out.data(), &size), SNAPPY_OK);
  } else if (packing == BlockPacking::kZstd) {
    size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  } else if (packing == BlockPacking::kGzip) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string in = text;
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size = stream.total_out;
    deflateEnd(&stream);
  } else {
    return text;
  }
  out.resize(size);
  return out;
}

class BlockUnpackerTest : public testing::TestWithParam<BlockPacking> {
 protected:
  bool Unpacks(const std::string& block, std::size_t size, std::string& out) {
    out.assign(size, '?');
    return unpacker_.Unpack(GetParam(), block, out);
  }

  BlockUnpacker unpacker_;
};

INSTANTIATE_TEST_SUITE_P(Packings, BlockUnpackerTest,
                         testing::Values(BlockPacking::kNone, BlockPacking::kSnappy, BlockPacking::kGzip,
                                         BlockPacking::kZstd));

TEST_P(BlockUnpackerTest, UnpacksBlocksOneAfterAnother) {
  std::string out;
  for (const std::string& text : {std::string("a"), std::string(), std::string(100'000, 'x'), std::string("abcabc")}) {
    ASSERT_TRUE(Unpacks(Pack(GetParam(), text), text.size(), out));
    EXPECT_EQ(out, text);
  }
}

TEST_P(BlockUnpackerTest, RefusesAnotherSize) {
  const std::string block = Pack(GetParam(), std::string(1000, 'x'));
  std::string out;
  EXPECT_FALSE(Unpacks(block, 999, out));
  EXPECT_FALSE(Unpacks(block, 1001, out));
  EXPECT_FALSE(Unpacks(block, 0, out));
  EXPECT_FALSE(Unpacks("", 1000, out));
  EXPECT_FALSE(Unpacks(block.substr(0, block.size() - 1), 1000, out));
  EXPECT_FALSE(Unpacks(block + "x", 1000, out));
}

TEST(BlockUnpackerMembersTest, GzipMayHaveSeveralMembers) {
  const std::string block = Pack(BlockPacking::kGzip, "ab") + Pack(BlockPacking::kGzip, "cd");
  std::string out(4, '?');
  EXPECT_TRUE(BlockUnpacker().Unpack(BlockPacking::kGzip, block, out));
  EXPECT_EQ(out, "abcd");
}

}  // namespace
}  // namespace idleburn
