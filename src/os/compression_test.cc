#include "os/compression.h"

#include <gtest/gtest.h>
#include <lzma.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace idleburn {

namespace {

// Bytes in memory, at most `piece` at a time, the whole text `times` times over.
class PackedSource final : public ByteSource {
 public:
  explicit PackedSource(std::string text, std::size_t piece = SIZE_MAX, int times = 1)
      : text_(std::move(text)), piece_(piece), times_(times) {}
  Result<std::size_t> Read(std::span<char> out) override {
    if (at_ == text_.size() && --times_ > 0) at_ = 0;
    const std::size_t n = std::min({out.size(), text_.size() - at_, piece_});
    std::copy_n(text_.data() + at_, n, out.data());
    at_ += n;
    return n;
  }
  [[nodiscard]] bool truncated() const override { return false; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string text_;
  std::string name_ = "packed";
  std::size_t piece_;
  int times_;
  std::size_t at_ = 0;
};

// The libraries' own compressors make the inputs.
std::string Pack(Compression compression, const std::string& text) {
  std::string out(text.size() + text.size() / 8 + 1024, '\0');
  if (compression == Compression::kZstd) {
    ZSTD_CCtx* z = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);  // as the zstd program does
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    ZSTD_inBuffer half{text.data(), text.size() / 2, 0};  // a block of its own, as a logger that flushes writes it
    EXPECT_EQ(ZSTD_compressStream2(z, &to, &half, ZSTD_e_flush), 0U);
    ZSTD_inBuffer rest{text.data() + half.size, text.size() - half.size, 0};
    EXPECT_EQ(ZSTD_compressStream2(z, &to, &rest, ZSTD_e_end), 0U);
    out.resize(to.pos);
    ZSTD_freeCCtx(z);
  } else if (compression == Compression::kXz) {
    std::size_t size = 0;
    EXPECT_EQ(lzma_easy_buffer_encode(3, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                                      text.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
              LZMA_OK);
    out.resize(size);
  } else {
    z_stream z{};
    deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    z.avail_in = static_cast<uInt>(text.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.resize(z.total_out);
    deflateEnd(&z);
  }
  return out;
}

struct Unpacked {
  std::string text;
  bool truncated = false;
  std::string error;
};

Unpacked Unpack(Compression compression, const std::string& packed, std::size_t piece = SIZE_MAX,
                std::size_t room = 4096) {
  const auto source = Inflate(std::make_unique<PackedSource>(packed, piece), compression);
  Unpacked result;
  std::string block(room, '\0');
  while (true) {
    const Result<std::size_t> got = source->Read(block);
    if (!got) {
      result.error = got.error().message;
      break;
    }
    if (*got == 0) break;
    result.text.append(block, 0, *got);
  }
  result.truncated = source->truncated();
  return result;
}

std::string Log(int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i)
    text += "2026/07/03 22:22:01." + std::to_string(i * 7919 % 1000) + ", 0, 97 %, 301.2 W\n";
  return text;
}

class InflateTest : public ::testing::TestWithParam<Compression> {};
std::string NameOf(const ::testing::TestParamInfo<Compression>& tested) {
  return tested.param == Compression::kGzip ? "gzip" : tested.param == Compression::kXz ? "xz" : "zstd";
}
INSTANTIATE_TEST_SUITE_P(Formats, InflateTest,
                         ::testing::Values(Compression::kGzip, Compression::kXz, Compression::kZstd), NameOf);

TEST_P(InflateTest, UnpacksSeveralMembersHoweverTheyArrive) {
  const std::string first = Log(2000);
  const std::string second = Log(17);
  const std::string packed = Pack(GetParam(), first) + Pack(GetParam(), "") + Pack(GetParam(), second);
  EXPECT_EQ(SniffCompression(packed.substr(0, 8)), GetParam());
  for (const std::size_t piece : {SIZE_MAX, std::size_t{1}, std::size_t{7}}) {
    for (const std::size_t room : {std::size_t{1}, std::size_t{4096}, std::size_t{1} << 20}) {
      const Unpacked got = Unpack(GetParam(), packed, piece, room);
      EXPECT_EQ(got.error, "");
      EXPECT_FALSE(got.truncated);
      EXPECT_TRUE(got.text == first + second) << piece << " " << room;
    }
  }
}

TEST_P(InflateTest, DeliversWhatCameBeforeACutAtEveryByte) {
  const std::string text = Log(40);
  const std::string packed = Pack(GetParam(), text);
  std::size_t longest = 0;
  for (std::size_t size = 1; size < packed.size(); ++size) {
    const Unpacked got = Unpack(GetParam(), packed.substr(0, size));
    ASSERT_EQ(got.error, "") << size;
    ASSERT_TRUE(got.truncated) << size;
    ASSERT_EQ(got.text, text.substr(0, got.text.size())) << size;
    longest = std::max(longest, got.text.size());
  }
  EXPECT_GT(longest, 0U);
}

TEST_P(InflateTest, ACutInALaterMemberKeepsTheEarlier) {
  const std::string text = Log(40);
  const std::string packed = Pack(GetParam(), text);
  const Unpacked got = Unpack(GetParam(), packed + packed.substr(0, packed.size() / 2));
  EXPECT_EQ(got.text.substr(0, text.size()), text);
  EXPECT_TRUE(got.truncated);
}

TEST_P(InflateTest, NoticesAFlippedBitAtEveryByte) {
  const std::string text = Log(40);
  const std::string packed = Pack(GetParam(), text);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    std::string damaged = packed;
    damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ 0x10U);
    const Unpacked got = Unpack(GetParam(), damaged);
    ASSERT_TRUE(!got.error.empty() || got.truncated || got.text == text) << i;
  }
  EXPECT_NE(Unpack(GetParam(), "nothing of the kind").error.find("packed: the compressed data is damaged"),
            std::string::npos);
}

TEST_P(InflateTest, SkipsPaddingAndRefusesJunkAfterTheEnd) {
  const std::string text = Log(10);
  const std::string packed = Pack(GetParam(), text);
  for (const std::size_t piece : {SIZE_MAX, std::size_t{3}}) {
    const Unpacked padded =
        Unpack(GetParam(), packed + std::string(512, '\0') + packed + std::string(300'000, '\0'), piece);
    EXPECT_EQ(padded.error, "");
    EXPECT_TRUE(padded.text == text + text);
    EXPECT_FALSE(padded.truncated);
    const Unpacked junk = Unpack(GetParam(), packed + "some junk that is no member", piece);
    EXPECT_NE(junk.error.find("there are other bytes after the end of the compressed data"), std::string::npos);
  }
}

TEST(InflateSourceTest, AWrongChecksumIsNoCut) {
  std::string packed = Pack(Compression::kGzip, Log(10));
  packed[packed.size() - 8] = static_cast<char>(~packed[packed.size() - 8]);
  EXPECT_EQ(Unpack(Compression::kGzip, packed).error,
            "packed: the compressed data is damaged at an unknown place; copy it again, or unpack it yourself");
}

// The library then says that it took a byte more than it was given.
TEST(InflateSourceTest, GzipThatIsDamagedAndEndsWithinACodeIsSaidToBe) {
  constexpr auto kDamaged = std::to_array<unsigned char>({0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03,
                                                          0xcb, 0x48, 0x02, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x90, 0x00,
                                                          0x80, 0x88, 0xf9, 0xe5, 0x11, 0x00, 0x00, 0x00});
  const std::string text(kDamaged.begin(), kDamaged.end());
  for (const std::size_t piece : {SIZE_MAX, std::size_t{1}, std::size_t{5}}) {
    const auto source = Inflate(std::make_unique<PackedSource>(text, piece), Compression::kGzip);
    std::string block(1 << 14, '\0');
    std::size_t total = 0;
    Result<std::size_t> got = source->Read(block);
    for (; got && *got > 0; got = source->Read(block)) total += *got;
    EXPECT_LT(total, 1000U) << piece;
    EXPECT_FALSE(got) << piece;
  }
}

TEST(InflateSourceTest, TellsPlainTextApart) {
  EXPECT_FALSE(SniffCompression("timestamp, index"));
  EXPECT_FALSE(SniffCompression(""));
  EXPECT_FALSE(SniffCompression("\x1f"));
  EXPECT_FALSE(
      SniffCompression("\xfd"
                       "7zX"));
}

std::string Drain(ByteSource& source, std::uint64_t* total) {
  std::string block(1 << 20, '\0');
  for (*total = 0;;) {
    const Result<std::size_t> got = source.Read(block);
    if (!got) return got.error().message;
    if (*got == 0) return "";
    *total += *got;
  }
}

TEST(InflateSourceTest, RefusesABomb) {
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    const std::string member = Pack(compression, std::string(std::size_t{32} << 20, '\0'));
    std::uint64_t total = 0;
    const auto bomb = Inflate(std::make_unique<PackedSource>(member, SIZE_MAX, 40), compression);  // 1.25 GiB
    EXPECT_NE(Drain(*bomb, &total).find("packed: unpacks to more than 1000 times its size"), std::string::npos);
    EXPECT_LT(total, (std::uint64_t{1} << 30) + (std::uint64_t{2} << 20));
  }
}

TEST(InflateSourceTest, TakesAnIdleLogForNoBomb) {
  // Beyond the bomb's size, at a ratio that only constant logs reach.
  std::string idle(std::size_t{32} << 20, '\0');
  for (std::size_t i = 0; i < idle.size(); i += 640) idle[i] = static_cast<char>(i * 2654435761U >> 24U);
  const std::string member = Pack(Compression::kZstd, idle);
  ASSERT_GT(idle.size() / member.size(), 200U);
  ASSERT_LT(idle.size() / member.size(), 1000U);
  std::uint64_t total = 0;
  const auto source = Inflate(std::make_unique<PackedSource>(member, SIZE_MAX, 33), Compression::kZstd);
  EXPECT_EQ(Drain(*source, &total), "");
  EXPECT_EQ(total, std::uint64_t{33} * idle.size());
}

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
