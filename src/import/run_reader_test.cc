#include "import/run_reader.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "import/parquet_numbers.h"
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

}  // namespace
}  // namespace idleburn
