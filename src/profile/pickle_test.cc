#include "profile/pickle.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "support/pickled.h"

namespace idleburn {
namespace {

using test::Pickle;
using PickleKind = PickledData::Kind;

std::string ErrorOf(const std::string& pickle, std::size_t most = kMostPickledValues) {
  const auto data = ReadPickle(pickle, most);
  return data ? "" : data.error().message;
}

std::optional<std::int64_t> IntOf(const std::string& opcodes) {
  const auto data = ReadPickle(Pickle(opcodes));
  EXPECT_TRUE(data) << (data ? "" : data.error().message);
  return data ? data->Int(data->root()) : std::nullopt;
}

// The examples of integers in pickletools.
TEST(PickleTest, Integers) {
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
  EXPECT_EQ(IntOf("K\xff"s), 255);
  EXPECT_EQ(IntOf("M\xff\xff"s), 65535);
  EXPECT_EQ(IntOf("J\xfe\xff\xff\xff"s), -2);
  EXPECT_EQ(IntOf("\x8a\x00"s), 0);
  EXPECT_EQ(IntOf("\x8a\x02\xff\x00"s), 255);
  EXPECT_EQ(IntOf("\x8a\x02\xff\x7f"s), 32767);
  EXPECT_EQ(IntOf("\x8a\x02\x00\xff"s), -256);
  EXPECT_EQ(IntOf("\x8a\x02\x00\x80"s), -32768);
  EXPECT_EQ(IntOf("\x8b\x01\x00\x00\x00\x80"s), -128);
  EXPECT_EQ(IntOf(test::PickledInt(-5)), -5);
  // 2^64 has nine bytes: it is there, and it has no value.
  EXPECT_EQ(IntOf("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01"s), std::nullopt);
}

TEST(PickleTest, OtherValues) {
  const std::string values = test::PickledList({"N", "\x88", "\x89", std::string("G\x3f\xf8\0\0\0\0\0\0", 9),
                                                "\x8c\x02hi", "C\x02\x01\xff", ")", "K\x01K\x02\x86", "}K\x01K\x02s"});
  const auto data = ReadPickle(Pickle(values));
  ASSERT_TRUE(data) << data.error().message;
  const auto items = data->Items(data->root());
  ASSERT_EQ(items.size(), 9U);
  EXPECT_EQ(data->KindOf(items[0]), PickleKind::kNone);
  EXPECT_EQ(data->Bool(items[1]), true);
  EXPECT_EQ(data->Bool(items[2]), false);
  EXPECT_EQ(data->Float(items[3]), 1.5);
  EXPECT_EQ(data->Text(items[4]), "hi");
  EXPECT_EQ(data->KindOf(items[5]), PickleKind::kBytes);
  EXPECT_EQ(data->Text(items[5]), "\x01\xff");
  EXPECT_TRUE(data->Items(items[6]).empty());
  EXPECT_EQ(data->Int(data->Items(items[7])[1]), 2);
  EXPECT_EQ(data->KindOf(items[8]), PickleKind::kDict);
}

TEST(PickleTest, MemoAndTheLastKeyWins) {
  // A text is kept by MEMOIZE, and is the key of a dict twice.
  const auto data = ReadPickle(Pickle("}(\x8c\x01k\x94K\x01h" + std::string(1, '\0') + "K\x02u"));
  ASSERT_TRUE(data) << data.error().message;
  const auto value = data->Find(data->root(), "k");
  ASSERT_TRUE(value);
  EXPECT_EQ(data->Int(*value), 2);
  EXPECT_EQ(data->Find(data->root(), "absent"), std::nullopt);
}

// Every opcode that could import or run something, with its code in pickletools.
TEST(PickleTest, RefusesWhatCouldRun) {
  const std::array<std::pair<char, const char*>, 13> opcodes = {{{'c', "GLOBAL"},
                                                                 {'\x93', "STACK_GLOBAL"},
                                                                 {'R', "REDUCE"},
                                                                 {'b', "BUILD"},
                                                                 {'i', "INST"},
                                                                 {'o', "OBJ"},
                                                                 {'\x81', "NEWOBJ"},
                                                                 {'\x92', "NEWOBJ_EX"},
                                                                 {'\x82', "EXT1"},
                                                                 {'\x83', "EXT2"},
                                                                 {'\x84', "EXT4"},
                                                                 {'P', "PERSID"},
                                                                 {'Q', "BINPERSID"}}};
  for (const auto& [code, name] : opcodes) {
    // PROTO takes the bytes 0 and 1, NONE byte 2.
    EXPECT_EQ(ErrorOf(Pickle(std::string("N") + code + "posix\nsystem\n")),
              std::string("opcode ") + name +
                  " at byte 3 could import or run code, so the pickle is refused; nothing was run");
  }
}

TEST(PickleTest, RefusesEveryOtherOpcodeThanPlainData) {
  const std::string plain = "\x80\x95.N\x88\x89JKM\x8a\x8bG\x8cX\x8dUTCB\x8e(012]})\x85\x86\x87tldaesuqr\x94hj";
  for (int code = 0; code < 256; ++code) {
    const std::string error = ErrorOf(Pickle(std::string(1, static_cast<char>(code)) + std::string(16, '\0')));
    const bool is_plain = plain.find(static_cast<char>(code)) != std::string::npos;
    const bool is_refused = error.starts_with("opcode ") || error.starts_with("unknown opcode ");
    // An opcode of plain data may meet an unknown one behind it (the zeros), but is never refused itself, at byte 2.
    const bool at_itself = is_refused && error.find(" at byte 2") != std::string::npos;
    EXPECT_EQ(at_itself, !is_plain) << code << " " << error;
  }
}

TEST(PickleTest, DamagedStacksAreErrors) {
  for (const std::string opcodes : {"", "a", "s", "t", "e", "u",
                                    "K\x01"
                                    "a",
                                    "]K\x01s", "}(K\x01u", "h\x05", "(", "]((e", "\x94", "0", "1", "2"}) {
    EXPECT_FALSE(ErrorOf(Pickle(opcodes)).empty()) << opcodes;
  }
  // A pop on a mark removes it, as in Python.
  EXPECT_EQ(IntOf("(0K\x07"), 7);
  EXPECT_EQ(IntOf("K\x07(K\x01K\x02"
                  "1"),
            7);
}

TEST(PickleTest, CutAnywhere) {
  const std::string whole = test::PickledSnapshot(
      {test::PickledSegment(0, 4096, 512, false, {test::PickledBlock(4096, 512, 100, "active_allocated")})},
      {test::PickledList({test::PickledEvent("alloc", 4096, 100, test::PickledFrames("train.py", 12))})});
  ASSERT_EQ(ErrorOf(whole), "");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string error = ErrorOf(whole.substr(0, size));
    EXPECT_FALSE(error.empty()) << size;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(PickleTest, BoundsDepthSizeAndMemory) {
  EXPECT_EQ(ErrorOf(Pickle(std::string(kDeepestPickle, '(') + "N" + std::string(kDeepestPickle, 't'))), "");
  EXPECT_NE(ErrorOf(Pickle(std::string(kDeepestPickle + 1, '('))).find("nests more than 1000 levels"),
            std::string::npos);
  EXPECT_NE(ErrorOf(Pickle(test::PickledList({"N", "N", "N"})), 3).find("more than 3 values"), std::string::npos);
  // A text or a memo that claims 4 GiB takes no memory.
  EXPECT_NE(ErrorOf(Pickle("X\xff\xff\xff\xffhi")).find("ends in the middle"), std::string::npos);
  EXPECT_NE(ErrorOf(Pickle("Nr\xff\xff\xff\xff")).find("damaged"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string("\x80\x06N.")).find("no pickle of protocol 2 to 5"), std::string::npos);
}

}  // namespace
}  // namespace idleburn
