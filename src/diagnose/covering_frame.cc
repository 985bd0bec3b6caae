#include "diagnose/covering_frame.h"

#include <fmt/format.h>

#include <algorithm>

namespace idleburn {
namespace {

constexpr std::int64_t kNearlyAll = 95;  // percent
constexpr std::int64_t kHalf = 50;

std::int64_t Overlap(const HostFrame& frame, Interval gap) {
  return std::min(frame.end_ns, gap.end) - std::max(frame.start_ns, gap.start);
}

// Frames of one thread nest and come by start: of those that cover enough, the one that ends first is the innermost.
bool IsInside(const HostFrame& frame, const HostFrame* other) {
  if (other == nullptr) return true;
  if (frame.python != other->python) return frame.python;
  return frame.end_ns <= other->end_ns;
}

}  // namespace

std::vector<CoveringFrame> FramesOver(const std::vector<HostFrame>& by_start, const std::vector<std::string>& names,
                                      Interval gap, std::uint32_t thread) {
  const HostFrame* whole = nullptr;
  const HostFrame* half = nullptr;
  for (const HostFrame& frame : by_start) {
    if (frame.start_ns >= gap.end) break;
    if (frame.thread != thread) continue;
    const std::int64_t percent = 100 * Overlap(frame, gap) / gap.Ns();
    if (percent >= kNearlyAll && IsInside(frame, whole)) whole = &frame;
    if (percent >= kHalf && IsInside(frame, half)) half = &frame;
  }
  std::vector<CoveringFrame> frames;
  if (whole != nullptr) frames.push_back({names[whole->name], Overlap(*whole, gap)});
  if (half != nullptr && half != whole) frames.push_back({names[half->name], Overlap(*half, gap)});
  return frames;
}

std::string Describe(const std::vector<CoveringFrame>& frames) {
  std::string text;
  for (const CoveringFrame& frame : frames) {
    text += fmt::format("{}{} ({:.3f} ms)", text.empty() ? "" : ", most of it in ", frame.name,
                        static_cast<double>(frame.covered_ns) / 1e6);
  }
  return text;
}

}  // namespace idleburn
