#include "import/delimiters.h"

#include <string>

#include "support/property.h"

namespace idleburn {
namespace {

std::vector<std::uint32_t> Found(Delimiters& delimiters, const std::string& text) {
  const std::string padded = text + std::string(Delimiters::kPad, ',');  // what follows the block is none of it
  delimiters.Find(padded.data(), text.size());
  return {delimiters.begin(), delimiters.end()};
}

std::vector<std::uint32_t> ByHand(const std::string& text) {
  std::vector<std::uint32_t> positions;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' || text[i] == '\n') positions.push_back(static_cast<std::uint32_t>(i));
  }
  return positions;
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
    const std::string text(size, ',');
    EXPECT_EQ(Found(delimiters, text), ByHand(text)) << size;
  }
}

}  // namespace
}  // namespace idleburn
