#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace idleburn {

// The time that the readings of one series cover: from the first to the last, without the longest pauses between.
// Bounded, however many readings there are and in whatever order they come.
class Coverage {
 public:
  void See(Instant time);
  // After the last reading: forgets distances of readings that are no pauses.
  void Settle();

  [[nodiscard]] bool empty() const { return readings_ == 0; }
  // Mean distance of readings, pauses apart.
  [[nodiscard]] Nanos Step() const;
  // Time that both cover. Both are settled.
  [[nodiscard]] static Nanos Overlap(const Coverage& a, const Coverage& b);

 private:
  struct Pause {
    std::int64_t from;
    std::int64_t to;
    [[nodiscard]] std::int64_t Length() const { return to - from; }
  };
  static bool Longer(const Pause& a, const Pause& b) { return a.Length() > b.Length(); }
  void Add(Pause pause);

  static constexpr std::size_t kMostPauses = 32;
  static constexpr std::int64_t kPauseSteps = 10;  // a pause is so many times as long as readings are mostly apart

  std::int64_t first_ = INT64_MAX;
  std::int64_t last_ = INT64_MIN;
  std::int64_t readings_ = 0;  // that made it longer
  std::vector<Pause> pauses_;  // a heap with the shortest in front; settled, in no order
};

}  // namespace idleburn
