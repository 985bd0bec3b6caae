#include "text/line_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/property.h"

namespace idleburn {
namespace {

// Hands out its text in pieces of the given sizes, in turn; then fails, if told to.
class PiecewiseSource final : public ByteSource {
 public:
  PiecewiseSource(std::string text, std::vector<std::size_t> sizes, bool fails = false)
      : text_(std::move(text)), sizes_(std::move(sizes)), fails_(fails) {}
  Result<std::size_t> Read(std::span<char> out) override {
    if (at_ == text_.size() && fails_) return Fail("pieces: cannot be read: Input/output error");
    const std::size_t n = std::min({out.size(), text_.size() - at_, sizes_[turn_++ % sizes_.size()]});
    std::copy_n(text_.data() + at_, n, out.data());
    at_ += n;
    return n;
  }
  [[nodiscard]] bool truncated() const override { return false; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string text_;
  std::string name_ = "pieces";
  std::vector<std::size_t> sizes_;
  std::size_t at_ = 0;
  std::size_t turn_ = 0;
  bool fails_;
};

using Lines = std::vector<std::string>;

Lines LinesOf(ByteSource& source, bool* last_terminated) {
  LineReader reader(source);
  Lines lines;
  std::string_view line;
  while (reader.Next(&line).value()) {
    lines.emplace_back(line);
    EXPECT_EQ(reader.number(), static_cast<std::int64_t>(lines.size()));
  }
  *last_terminated = reader.terminated();
  return lines;
}

// Character by character.
Lines NaiveLines(const std::string& text) {
  Lines lines;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
    line.clear();
  };
  for (const char c : text) {
    if (c == '\n') {
      end_line();
    } else {
      line += c;
    }
  }
  if (!line.empty()) end_line();
  return lines;
}

TEST(LineReaderTest, SplitsLinesOfBothKinds) {
  StringSource source("a\r\n\nb\rc\nlast", "log.csv");
  LineReader reader(source);
  std::string_view line;
  for (const std::string_view expected : {"a", "", "b\rc"}) {
    ASSERT_TRUE(reader.Next(&line).value());
    EXPECT_EQ(line, expected);
    EXPECT_TRUE(reader.terminated());
  }
  ASSERT_TRUE(reader.Next(&line).value());
  EXPECT_EQ(line, "last");
  EXPECT_FALSE(reader.terminated());
  EXPECT_EQ(reader.Where(), "log.csv:4");
  EXPECT_FALSE(reader.Next(&line).value());
  EXPECT_FALSE(reader.Next(&line).value());
}

TEST(LineReaderTest, AgreesWithANaiveSplitterHoweverTheInputArrives) {
  test::ExpectProperty([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab,\r\n\n")));
    const auto sizes =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 9)));
    PiecewiseSource source(text, sizes);
    bool terminated = true;
    RC_ASSERT(LinesOf(source, &terminated) == NaiveLines(text));
    RC_ASSERT(terminated == (text.empty() || text.back() == '\n'));
  });
}

TEST(LineReaderTest, AgreesOverManyBlocks) {
  std::string text;
  for (std::size_t i = 0; text.size() < (std::size_t{3} << 20); i = i * 7 + 1)
    text += std::string(i % 70'001, 'x') + "\r\n";
  for (const std::size_t piece : {std::size_t{1} << 22, std::size_t{4093}, std::size_t{262'144}}) {
    PiecewiseSource source(text, {piece});
    bool terminated = false;
    EXPECT_TRUE(LinesOf(source, &terminated) == NaiveLines(text)) << piece;
    EXPECT_TRUE(terminated);
  }
}

// The limit is the same however the line arrives and however it ends.
TEST(LineReaderTest, LimitsTheLengthOfALine) {
  for (const std::size_t piece :
       {std::size_t{1} << 22, std::size_t{100'003}, std::size_t{65'536}, LineReader::kMaxLine + 1}) {
    for (const std::string_view ending : {"\n", "\r\n", ""}) {
      PiecewiseSource fits("x\n" + std::string(LineReader::kMaxLine, 'a') + std::string(ending), {piece});
      LineReader good(fits);
      std::string_view line;
      ASSERT_TRUE(good.Next(&line).value());
      ASSERT_TRUE(good.Next(&line).value());
      EXPECT_EQ(line.size(), LineReader::kMaxLine);

      PiecewiseSource exceeds("x\n" + std::string(LineReader::kMaxLine + 1, 'a') + std::string(ending), {piece});
      LineReader bad(exceeds);
      ASSERT_TRUE(bad.Next(&line).value());
      const Result<bool> next = bad.Next(&line);
      ASSERT_FALSE(next) << piece;
      EXPECT_EQ(next.error().message.rfind("pieces:2: line is longer than 1048576 bytes", 0), 0U)
          << next.error().message;
    }
  }
}

TEST(LineReaderTest, RefusesAMillionColumns) {
  std::string row;
  for (int i = 0; i < 1'000'000; ++i) row += "0,";
  StringSource source(row + "\n", "wide.csv");
  LineReader reader(source);
  std::string_view line;
  const Result<bool> next = reader.Next(&line);
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().message.rfind("wide.csv:1: ", 0), 0U);
}

TEST(LineReaderTest, PassesErrorsOn) {
  PiecewiseSource source("a\nb", {64}, true);
  LineReader reader(source);
  std::string_view line;
  ASSERT_TRUE(reader.Next(&line).value());
  EXPECT_EQ(line, "a");
  const Result<bool> next = reader.Next(&line);
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().message, "pieces: cannot be read: Input/output error");
}

TEST(LineReaderTest, ReadsAllUpToALimit) {
  PiecewiseSource fits(std::string(1 << 20, 'a'), {1000});
  EXPECT_EQ(ReadAll(fits, 1 << 20)->size(), std::size_t{1} << 20);
  PiecewiseSource exceeds(std::string((1 << 20) + 1, 'a'), {1000});
  const Result<std::string> all = ReadAll(exceeds, 1 << 20);
  ASSERT_FALSE(all);
  EXPECT_NE(all.error().message.find("pieces: larger than 1 MiB"), std::string::npos);
  PiecewiseSource fails("a", {1}, true);
  EXPECT_FALSE(ReadAll(fails, 10));
}

}  // namespace
}  // namespace idleburn
