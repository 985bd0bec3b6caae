#include "run/turns.h"

#include <algorithm>
#include <utility>

namespace idleburn {

std::int64_t DoneInTurns(std::vector<Turn> turns) {
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.begin < b.begin; });
  std::int64_t done = 0;
  std::int64_t furthest = 0;  // of those that overlap
  std::int64_t end = 0;
  for (const Turn& turn : turns) {
    if (turn.begin > end) done += std::exchange(furthest, 0);
    furthest = std::max(furthest, turn.done);
    end = std::max(end, turn.end);
  }
  return done + furthest;
}

}  // namespace idleburn
