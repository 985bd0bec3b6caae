#include "diagnose/covering_frame.h"

#include <algorithm>

namespace idleburn {

std::optional<CoveringFrame> FrameOver(const Profile& profile, Interval gap, std::uint32_t thread) {
  const HostFrame* innermost = nullptr;
  std::int64_t covered = 0;
  for (const HostFrame& frame : profile.frames) {
    if (frame.start_ns >= gap.end) break;  // they are sorted by start
    if (frame.thread != thread) continue;
    const std::int64_t overlap = std::min(frame.end_ns, gap.end) - std::max(frame.start_ns, gap.start);
    if (overlap * 2 < gap.Ns()) continue;
    if (innermost != nullptr) {
      if (innermost->python && !frame.python) continue;
      // Frames of one thread nest: the inner one ends first.
      if (innermost->python == frame.python && frame.end_ns > innermost->end_ns) continue;
    }
    innermost = &frame;
    covered = overlap;
  }
  if (innermost == nullptr) return std::nullopt;
  return CoveringFrame{profile.names[innermost->name], covered};
}

}  // namespace idleburn
