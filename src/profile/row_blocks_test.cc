#include "profile/row_blocks.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace idleburn {
namespace {

struct Wide {
  std::int64_t number = 0;
  std::array<std::int64_t, 511> rest{};  // 4 KiB: 4096 of them fill a block
};

TEST(RowBlocksTest, RowsComeBackInOrderFromAnyNumberOfBlocks) {
  for (const std::int64_t count : {0, 1, 4095, 4096, 4097, 9000}) {
    RowBlocks<Wide> blocks;
    for (std::int64_t i = 0; i < count; ++i) blocks.Add({i, {}});
    EXPECT_EQ(blocks.size(), static_cast<std::size_t>(count));
    const std::vector<Wide> rows = blocks.Take();
    ASSERT_EQ(rows.size(), static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(rows[static_cast<std::size_t>(i)].number, i);
    EXPECT_EQ(blocks.size(), 0U);
    EXPECT_TRUE(blocks.Take().empty());
  }
}

}  // namespace
}  // namespace idleburn
