#include "base/work_unit.h"

#include <algorithm>

namespace idleburn {

void WorkCount::AddRank(const WorkCount& rank) {
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
    if (rank.of[u])
      of[u] = kAddsOverRanks[u] ? of[u].value_or(0) + *rank.of[u] : std::max(of[u].value_or(*rank.of[u]), *rank.of[u]);
  }
}

WorkCount WorkCount::Beyond(const WorkCount& before) const {
  WorkCount beyond;
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
    if (of[u] && before.of[u] && *of[u] > *before.of[u]) beyond.of[u] = *of[u] - *before.of[u];
  }
  return beyond;
}

}  // namespace idleburn
