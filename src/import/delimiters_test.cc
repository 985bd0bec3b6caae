#include "import/delimiters.h"

#include <string>
#include <utility>
#include <vector>

#include "support/property.h"

namespace idleburn {
namespace {

using Lines = std::vector<std::vector<std::uint32_t>>;

Lines Found(Delimiters& delimiters, const std::string& text) {
  const std::string padded = text + std::string(Delimiters::kPad, '\n');  // what follows the block is none of it
  delimiters.Find(padded.data(), text.size());
  Lines lines;
  std::uint32_t before = UINT32_MAX;
  for (std::size_t i = 0; i < delimiters.lines(); ++i) {
    const auto line = delimiters.Line(i);
    EXPECT_EQ(line.data()[-1], before);
    before = line.back();
    lines.emplace_back(line.begin(), line.end());
  }
  return lines;
}

Lines ByHand(const std::string& text) {
  Lines lines;
  std::vector<std::uint32_t> line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' || text[i] == '\n') line.push_back(static_cast<std::uint32_t>(i));
    if (text[i] == '\n') lines.push_back(std::exchange(line, {}));
  }
  return lines;
}

TEST(Delimiters, AllOfThemInOrder) {
  Delimiters delimiters;  // used again and again: nothing of an earlier block stays
  test::ExpectProperty("delimiters", [&delimiters] {
    const auto text = *rc::gen::container<std::string>(rc::gen::weightedElement<char>(
        {{3, ','}, {1, '\n'}, {4, '1'}, {2, ' '}, {1, '\xAC'}, {1, '\x8A'}, {1, '-'}, {1, '\0'}}));
    RC_ASSERT(Found(delimiters, text) == ByHand(text));
  });
}

TEST(Delimiters, EveryLengthAroundAStepAndNothingButCommas) {
  Delimiters delimiters;
  for (std::size_t size = 0; size < 300; ++size) {
    for (const char c : {',', '\n'}) {
      const std::string text = std::string(size, c) + "\n";
      EXPECT_EQ(Found(delimiters, text), ByHand(text)) << size;
    }
  }
}

}  // namespace
}  // namespace idleburn
