#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "classify/totals.h"

namespace idleburn {

// The time in which a board that has MIG instances was read itself and none of them was: before it was cut, and after.
// It was one GPU then. Where both were read the instances are the truth.
//
//   board      ####################....................  read      a board that was cut while it was measured;
//   instances  .....................###################            unread time of an instance beside its own is none
struct OwnTime {
  struct Stretch {
    Instant start;
    Instant end;
    std::int64_t ns = 0;  // of it
  };
  std::vector<Stretch> stretches;
  DeviceResult board;  // what it did in them; no unobserved time

  // What of it certainly lies between these, whatever the board's place in each stretch.
  [[nodiscard]] std::int64_t Within(Instant from, Instant to) const;
};

// As exact as the timelines: a stretch in which the board was cut is shared by who was read how long in it.
Result<OwnTime> OwnTimeOf(const DeviceResult& board, std::span<const DeviceResult* const> instances);

}  // namespace idleburn
