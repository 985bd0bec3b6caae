#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace idleburn {

// A host function or annotation that a gap was spent in.
struct CoveringFrame {
  std::string name;
  std::int64_t covered_ns = 0;  // of the gap
};

// Where a thread was during a gap: the innermost Python frame (else annotation) that covers nearly all of it, then, if
// that is another one, the innermost that covers half of it. Linear in the frames kept: for the few gaps worth a name.
std::vector<CoveringFrame> FramesOver(const std::vector<HostFrame>& by_start, const std::vector<std::string>& names,
                                      Interval gap, std::uint32_t thread);

// "preprocess (217.5 ms), most of it in resize (178.2 ms)"; "" without frames.
std::string Describe(const std::vector<CoveringFrame>& frames);

}  // namespace idleburn
