#include "import/parquet_coding.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/property.h"

namespace idleburn {
namespace {

using Numbers = std::vector<std::uint32_t>;

// Writes bits one by one, lowest first: nothing in common with how they are read.
template <typename T>
std::string Packed(const std::vector<T>& values, int width) {
  std::string bytes;
  std::size_t bit = 0;
  for (const T value : values) {
    for (int i = 0; i < width; ++i, ++bit) {
      if (bit % 8 == 0) bytes += '\0';
      if ((value >> i & 1) != 0) bytes.back() = static_cast<char>(bytes.back() | 1 << bit % 8);
    }
  }
  return bytes;
}

std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

// All that a reader of bytes gives, asked for in pieces; what lies behind the bytes is not theirs.
Numbers ReadAll(std::string bytes, int width, std::uint32_t limit, std::size_t piece_size) {
  const std::size_t size = bytes.size();
  bytes.append(kParquetSlack, '\xff');
  RunReader reader(std::span(bytes.data(), size), width, limit);
  Numbers all;
  while (true) {
    const RunReader::Piece piece = reader.Next(piece_size);
    if (piece.count == 0) return all;
    EXPECT_LE(piece.count, piece_size);
    for (std::size_t i = 0; i < piece.count; ++i) {
      all.push_back(piece.values != nullptr ? piece.values[i] : piece.repeated);
    }
  }
}

TEST(BitUnpackTest, AgreesWithWritingBitByBit) {
  std::mt19937_64 random(1);
  for (int width = 0; width <= 64; ++width) {
    for (const std::size_t groups : {0U, 1U, 9U}) {
      std::vector<std::uint64_t> values(groups * 8);
      for (std::uint64_t& value : values) value = width == 0 ? 0 : random() >> (64 - width);
      std::string bytes = Packed(values, width);
      bytes.append(kParquetSlack, '\xff');
      std::vector<std::uint64_t> wide(values.size());
      UnpackBits(bytes.data(), width, groups, wide.data());
      ASSERT_EQ(wide, values) << width;
      if (width > 32) continue;
      Numbers narrow(values.size());
      UnpackBits(bytes.data(), width, groups, narrow.data());
      ASSERT_TRUE(std::equal(narrow.begin(), narrow.end(), values.begin())) << width;
    }
  }
}

TEST(RunReaderTest, ReadsRunsOfBothKinds) {
  test::ExpectProperty("what was written", [] {
    const int width = *rc::gen::inRange(0, 33);
    const std::uint64_t limit = std::min<std::uint64_t>(std::uint64_t{1} << width, UINT32_MAX);
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    const auto draw = [&] { return static_cast<std::uint32_t>(random() % limit); };
    Numbers expected;
    std::string bytes;
    for (int run = *rc::gen::inRange(0, 6); run > 0; --run) {
      if (*rc::gen::arbitrary<bool>()) {
        const std::uint32_t value = draw();
        const auto count = *rc::gen::inRange<std::size_t>(0, 3000);
        bytes += Varint(count << 1) + Packed<std::uint32_t>({value}, (width + 7) / 8 * 8);
        expected.insert(expected.end(), count, value);
      } else {
        const auto groups = *rc::gen::inRange<std::size_t>(0, 150);
        Numbers values(groups * 8);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 97 == 0 ? draw() : values[i / 2];
        bytes += Varint(groups << 1 | 1) + Packed(values, width);
        expected.insert(expected.end(), values.begin(), values.end());
      }
    }
    const auto piece_size = *rc::gen::element<std::size_t>(1, 7, 500, 1 << 20);
    RC_ASSERT(ReadAll(bytes, width, UINT32_MAX, piece_size) == expected);
  });
}

TEST(RunReaderTest, StopsAtWhatIsWrong) {
  EXPECT_EQ(ReadAll(Varint(3 << 1) + "\x07", 3, 7, 10), Numbers());  // 7 is beyond
  EXPECT_EQ(ReadAll(Varint(3 << 1) + "\x06", 3, 7, 10), Numbers({6, 6, 6}));
  EXPECT_EQ(ReadAll(Varint(1 << 1 | 1) + "\xff\xff\xff", 3, 7, 10), Numbers());
  EXPECT_EQ(ReadAll(Varint(3 << 1), 3, 7, 10), Numbers());  // no value
  EXPECT_EQ(ReadAll("\xff", 3, 7, 10), Numbers());          // half a header
  EXPECT_EQ(ReadAll("\xff\xff\xff\xff\xff\xff\xff", 3, 7, 10), Numbers());
  EXPECT_EQ(ReadAll("", 3, 7, 10), Numbers());
  // Two groups announced, of the second only the first byte: two more numbers of three bits.
  EXPECT_EQ(ReadAll(Varint(2 << 1 | 1) + Packed(Numbers(8, 5), 3) + "\x1b", 3, 7, 100).size(), 10U);
}

using Integers = std::vector<std::uint64_t>;

std::string WithSlack(std::string bytes) { return bytes.append(kParquetSlack, '\0'); }

// The examples of the format's description: five ascending numbers (no bits at all), and eight that need two bits.
TEST(DeltaReaderTest, ReadsThePublishedExamples) {
  const std::string ascending = WithSlack(std::string("\x80\x01\x04\x05\x02\x02\x00\x00\x00\x00", 10));
  Integers five(5);
  EXPECT_TRUE(DeltaReader(std::span(ascending.data(), 10)).Read(five));
  EXPECT_EQ(five, Integers({1, 2, 3, 4, 5}));
  const std::string mixed = WithSlack(std::string("\x80\x01\x04\x08\x0e\x03\x02\x00\x00\x00\xc0\x3f\0\0\0\0\0\0", 18));
  Integers eight(8);
  EXPECT_TRUE(DeltaReader(std::span(mixed.data(), 18)).Read(eight));
  EXPECT_EQ(eight, Integers({7, 5, 3, 1, 2, 3, 4, 5}));
  // A piece at a time, and not one more than there are; a writer may cut the last miniblock short.
  DeltaReader pieces(std::span(mixed.data(), 12));
  Integers one(1);
  for (const std::uint64_t value : eight) {
    ASSERT_TRUE(pieces.Read(one));
    EXPECT_EQ(one[0], value);
  }
  EXPECT_FALSE(pieces.Read(one));
}

TEST(DeltaReaderTest, RefusesWhatIsWrong) {
  const auto reads = [](const std::string& bytes, std::size_t count) {
    const std::string padded = WithSlack(bytes);
    Integers out(count);
    return DeltaReader(std::span(padded.data(), bytes.size())).Read(out);
  };
  EXPECT_FALSE(reads("", 1));
  EXPECT_TRUE(reads(std::string("\x80\x01\x04\x01\x02", 5), 1));
  EXPECT_FALSE(reads(std::string("\x80\x01\x00\x01\x02", 5), 1));      // no miniblocks
  EXPECT_FALSE(reads(std::string("\x80\x01\x05\x01\x02", 5), 1));      // 128 / 5
  EXPECT_FALSE(reads("\x80\x80\x80\x80\x80\x01\x04\x01\x02", 1));      // a block of 2^35
  EXPECT_FALSE(reads("\x80\x01\x04\x05\x02\x02\x41\x41\x41\x41", 5));  // 65 bits
  EXPECT_FALSE(
      reads("\x80\x01\x04\x05\x02\x02\x20\x20\x20\x20"
            "abc",
            5));  // 32 bits each, and three bytes
}

TEST(DeltaReaderTest, EndsOnAnyBytes) {
  test::ExpectProperty("a number or a refusal", [](const std::string& tail) {
    const std::string bytes = "\x80\x01\x04\x7f\x02" + tail;
    const std::string padded = WithSlack(bytes);
    DeltaReader reader(std::span(padded.data(), bytes.size()));
    Integers out(1);
    int count = 0;
    while (reader.Read(out)) ++count;
    RC_ASSERT(count <= 127);
  });
}

using Type = ThriftReader::Type;

ThriftReader Over(const std::string& bytes) { return ThriftReader(bytes); }

TEST(ThriftReaderTest, ReadsFieldsByTheirNumbers) {
  // 1: i32 = -3; 2: true; 19: i64 = 300 (its number written out); 20: binary "ab".
  const std::string bytes(
      "\x15\x05\x11\x06\x26\xd8\x04\x18\x02"
      "ab\x00rest",
      16);
  ThriftReader in = Over(bytes);
  std::string seen;
  in.Struct([&](std::int64_t id, Type type) {
    seen += std::to_string(id) + ":";
    if (type == Type::kTrue) seen += "true ";
    if (type == Type::kI32 || type == Type::kI64) seen += std::to_string(in.Integer()) + " ";
    if (type == Type::kBinary) seen += in.Binary();
    return true;
  });
  EXPECT_EQ(seen, "1:-3 2:true 19:300 20:ab");
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.position(), 12U);
}

TEST(ThriftReaderTest, SkipsWhatNobodyAsksFor) {
  // A list of two structs, a map of text to truths, a set of doubles, a byte, an i16; then 6: i32 = 1.
  const std::string bytes(
      "\x19\x2c\x15\x02\x00\x00"
      "\x1b\x02\x81\x01k\x01\x01l\x02"
      "\x1a\x17"
      "12345678"
      "\x13\x7f"
      "\x14\x02"
      "\x15\x02\x00",
      32);
  ThriftReader in = Over(bytes);
  std::int64_t sixth = 0;
  in.Struct([&](std::int64_t id, Type) {
    if (id == 6) sixth = in.Integer();
    return id == 6;
  });
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(sixth, 1);
  EXPECT_EQ(in.position(), bytes.size());
}

TEST(ThriftReaderTest, RefusesWhatIsBeyondItsBytes) {
  const auto fails = [](const std::string& bytes) {
    ThriftReader in = Over(bytes);
    in.Struct([](std::int64_t, Type) { return false; });
    return !in.ok();
  };
  EXPECT_TRUE(fails(""));
  EXPECT_TRUE(fails("\x15"));
  EXPECT_TRUE(
      fails("\x18\x7f"
            "ab"));                                      // 127 bytes of text
  EXPECT_TRUE(fails("\x19\xfc\xff\xff\xff\xff\x0f"));    // 2^32 structs
  EXPECT_TRUE(fails("\x1e"));                            // an unknown type
  EXPECT_TRUE(fails("\x16" + std::string(11, '\xff')));  // a number beyond 64 bits
  EXPECT_TRUE(fails(std::string(100, '\x1c')));          // structs in structs
  std::string lists;
  for (int i = 0; i < 100; ++i) lists += "\x19";
  EXPECT_TRUE(fails(lists + std::string(100, '\0')));
}

TEST(ThriftReaderTest, EndsOnAnyBytes) {
  test::ExpectProperty("never beyond its bytes", [](const std::string& bytes) {
    ThriftReader in = Over(bytes);
    in.Struct([&](std::int64_t id, Type type) {
      if (id % 3 == 0 && type == Type::kList) {
        in.List([&](Type element) { in.Skip(element); });
        return true;
      }
      return false;
    });
    RC_ASSERT(in.position() <= bytes.size());
  });
}

}  // namespace

}  // namespace idleburn
