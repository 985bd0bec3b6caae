#include "import/thrift_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "support/property.h"

namespace idleburn {
namespace {

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
