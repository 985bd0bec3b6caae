#pragma once

#include <cstddef>
#include <cstdint>

#include "stats/random.h"

namespace idleburn {

// Draws as many values as the series has, in blocks of neighbours that begin anywhere (Kuensch 1989), the last one cut:
// calls `take(begin, end)` for each. 1 <= block <= n.
template <typename Take>
void DrawBlocks(std::size_t n, std::size_t block, Random& random, Take take) {
  const auto starts = static_cast<std::uint64_t>(n - block + 1);
  for (std::size_t drawn = 0; drawn < n; drawn += block) {
    const auto begin = static_cast<std::size_t>((random.Next() * starts) >> 32U);
    take(begin, begin + (n - drawn < block ? n - drawn : block));
  }
}

}  // namespace idleburn
