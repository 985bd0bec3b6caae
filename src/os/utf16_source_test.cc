#include "os/utf16_source.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace idleburn {
namespace {

// Gives a few bytes at a time, so that characters are cut.
class Dripping final : public ByteSource {
 public:
  Dripping(std::string bytes, std::size_t step, bool truncated = false)
      : bytes_(std::move(bytes)), step_(step), truncated_(truncated) {}
  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t n = std::min({out.size(), step_, bytes_.size() - at_});
    bytes_.copy(out.data(), n, at_);
    at_ += n;
    return n;
  }
  [[nodiscard]] bool truncated() const override { return truncated_ && at_ == bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string bytes_;
  std::string name_ = "log";
  std::size_t step_;
  bool truncated_;
  std::size_t at_ = 0;
};

std::string Bytes(std::u16string_view text, bool big) {
  std::string bytes;
  for (const char16_t unit : text) {
    const char high = static_cast<char>(unit >> 8);
    const char low = static_cast<char>(unit & 0xFF);
    bytes += big ? std::string{high, low} : std::string{low, high};
  }
  return bytes;
}

std::string Decoded(const std::string& bytes, std::size_t step, std::size_t room = 5) {
  const auto source = DecodeUtf16(std::make_unique<Dripping>(bytes, step));
  std::string text;
  std::string buffer(room, '\0');
  while (true) {
    const Result<std::size_t> got = source->Read(std::span(buffer));
    if (!got || *got == 0) return text;
    text.append(buffer, 0, *got);
  }
}

TEST(Utf16, EitherOrderAndEveryCut) {
  const std::u16string_view text = u"\uFEFF45 %, \u00e9\u20ac\U0001F525\r\n";
  const std::string utf8 = "45 %, \xC3\xA9\xE2\x82\xAC\xF0\x9F\x94\xA5\r\n";
  for (std::size_t step = 1; step < 20; ++step) {
    EXPECT_EQ(Decoded(Bytes(text, false), step), utf8) << step;
    EXPECT_EQ(Decoded(Bytes(text, true), step), utf8) << step;
  }
}

TEST(Utf16, SaysThatWhatItDecodesWasCutOff) {
  std::array<char, 16> buffer{};
  for (const bool truncated : {false, true}) {
    const auto source = DecodeUtf16(std::make_unique<Dripping>(Bytes(u"\uFEFF45", false), 3, truncated));
    while (source->Read(buffer).value() > 0) {
    }
    EXPECT_EQ(source->truncated(), truncated);
  }
}

TEST(Utf16, HalvesOfCharactersAreMarked) {
  const char16_t lone_high[] = {0xFEFF, 'a', 0xD83D, 'b', 0};
  const char16_t lone_low[] = {0xFEFF, 'a', 0xDD25, 'b', 0};
  const char16_t last_high[] = {0xFEFF, 'a', 0xD83D, 0};
  EXPECT_EQ(Decoded(Bytes(lone_high, false), 3),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(Decoded(Bytes(lone_low, false), 3),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(Decoded(Bytes(last_high, false), 3), "a\xEF\xBF\xBD");
  EXPECT_EQ(Decoded(Bytes(u"\uFEFFa", false) + "b", 3), "a\xEF\xBF\xBD");
}

TEST(Utf16, ToldByItsMarkOnly) {
  EXPECT_TRUE(SniffUtf16(Bytes(u"\uFEFFa", false)));
  EXPECT_TRUE(SniffUtf16(Bytes(u"\uFEFFa", true)));
  EXPECT_FALSE(SniffUtf16("\xFF"));
  EXPECT_FALSE(SniffUtf16("\xEF\xBB\xBFtime"));
  EXPECT_FALSE(SniffUtf16(Bytes(u"ab", false)));
}

}  // namespace
}  // namespace idleburn
