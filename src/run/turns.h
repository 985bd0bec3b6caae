#pragma once

#include <cstdint>
#include <vector>

namespace idleburn {

// A count of somebody's, and where in the order of all lines it was heard of first and last.
struct Turn {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t done = 0;
};

// What all of them have done. Those that overlap count the same work side by side: the furthest of them says how far
// they are. One that begins when all before it have ended goes on where they were.
std::int64_t DoneInTurns(std::vector<Turn> turns);

}  // namespace idleburn
