#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "standin/board.h"
#include "standin/gpu_marks.h"

namespace idleburn::standin {

// The marks of all processes, mapped.
struct LiveMarks {
  static std::shared_ptr<LiveMarks> Map(const std::string& path);
  MarkFile* file = nullptr;
  std::array<std::int64_t, MarkFile::kSlots> last_alive{};  // monotonic; when each slot's process was last seen
};

// What the processes that mark `device` make of it. t = 0 is `base_ns` of the monotonic clock.
std::unique_ptr<Activity> LiveActivityOf(std::shared_ptr<LiveMarks> marks, const BoardFacts& facts, int device,
                                         std::int64_t base_ns);

}  // namespace idleburn::standin
