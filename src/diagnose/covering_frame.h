#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profile/profile.h"

namespace idleburn {

// The host function or annotation that a gap was spent in.
struct CoveringFrame {
  std::string name;
  std::int64_t covered_ns = 0;  // of the gap
};

// The innermost Python frame, else annotation, of a thread that covers half of a gap or more. Linear in the frames
// kept: for the few gaps worth a name.
std::optional<CoveringFrame> FrameOver(const Profile& profile, Interval gap, std::uint32_t thread);

}  // namespace idleburn
