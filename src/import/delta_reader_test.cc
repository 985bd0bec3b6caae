#include "import/delta_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "import/parquet_numbers.h"
#include "support/property.h"

namespace idleburn {
namespace {

using Numbers = std::vector<std::uint64_t>;

std::string WithSlack(std::string bytes) { return bytes.append(kParquetSlack, '\0'); }

// The examples of the format's description: five ascending numbers (no bits at all), and eight that need two bits.
TEST(DeltaReaderTest, ReadsThePublishedExamples) {
  const std::string ascending = WithSlack(std::string("\x80\x01\x04\x05\x02\x02\x00\x00\x00\x00", 10));
  Numbers five(5);
  EXPECT_TRUE(DeltaReader(std::span(ascending.data(), 10)).Read(five));
  EXPECT_EQ(five, Numbers({1, 2, 3, 4, 5}));
  const std::string mixed = WithSlack(std::string("\x80\x01\x04\x08\x0e\x03\x02\x00\x00\x00\xc0\x3f\0\0\0\0\0\0", 18));
  Numbers eight(8);
  EXPECT_TRUE(DeltaReader(std::span(mixed.data(), 18)).Read(eight));
  EXPECT_EQ(eight, Numbers({7, 5, 3, 1, 2, 3, 4, 5}));
  // A piece at a time, and not one more than there are; a writer may cut the last miniblock short.
  DeltaReader pieces(std::span(mixed.data(), 12));
  Numbers one(1);
  for (const std::uint64_t value : eight) {
    ASSERT_TRUE(pieces.Read(one));
    EXPECT_EQ(one[0], value);
  }
  EXPECT_FALSE(pieces.Read(one));
}

TEST(DeltaReaderTest, RefusesWhatIsWrong) {
  const auto reads = [](const std::string& bytes, std::size_t count) {
    const std::string padded = WithSlack(bytes);
    Numbers out(count);
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
    Numbers out(1);
    int count = 0;
    while (reader.Read(out)) ++count;
    RC_ASSERT(count <= 127);
  });
}

}  // namespace
}  // namespace idleburn
