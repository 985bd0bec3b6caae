#include "stats/block_bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace idleburn {
namespace {

TEST(BlockBootstrapTest, DrawsAsManyValuesAsThereAreInWholeBlocks) {
  Random random(5);
  for (const std::size_t block : {1U, 3U, 7U, 10U}) {
    std::size_t drawn = 0;
    DrawBlocks(10, block, random, [&](std::size_t begin, std::size_t end) {
      EXPECT_LT(begin, end);
      EXPECT_LE(end, 10U);
      EXPECT_EQ(end - begin, std::min<std::size_t>(block, 10 - drawn));
      drawn += end - begin;
    });
    EXPECT_EQ(drawn, 10U) << block;
  }
}

TEST(BlockBootstrapTest, EveryStartIsAsLikely) {
  Random random(6);
  std::vector<int> starts(6, 0);
  constexpr int kDraws = 6000;
  for (int i = 0; i < kDraws; ++i) {
    DrawBlocks(10, 5, random, [&](std::size_t begin, std::size_t) { ++starts.at(begin); });
  }
  for (const int count : starts) EXPECT_NEAR(count, 2 * kDraws / 6, 200);
}

}  // namespace
}  // namespace idleburn
