#pragma once

#include <cstdint>
#include <vector>

#include "classify/totals.h"

namespace idleburn {

// Idle time shorter than this between work is a pause, not a GPU that somebody could have released.
inline constexpr std::int64_t kIdleStretchSeconds = 60;

// Idle time of one device in stretches of kIdleStretchSeconds or more, by what held the GPU meanwhile. Nanoseconds.
struct IdleStretches {
  std::int64_t held_ns = 0;     // a process held memory
  std::int64_t empty_ns = 0;    // none did
  std::int64_t unknown_ns = 0;  // whether one did was not read
  std::int64_t unclear_ns = 0;  // idle beside these that may lie in such stretches: the timeline is too coarse to tell
  std::vector<bool> marked;     // which buckets of the timeline they are

  [[nodiscard]] std::int64_t TotalNs() const { return held_ns + empty_ns + unknown_ns; }
};

// From the timeline's buckets, so a stretch is seen to within one bucket at either end. Buckets that are `taken`, if
// given, belong to another cause and end a stretch. `place_runs`: where buckets are too coarse the runs at 0 % are
// placed by themselves, in buckets that are not marked; not where another cause may claim the rest of such a bucket.
IdleStretches FindIdleStretches(const DeviceTotals& totals, const std::vector<bool>& taken = {},
                                bool place_runs = true);

}  // namespace idleburn
