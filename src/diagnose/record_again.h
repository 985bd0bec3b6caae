#pragma once

#include <string_view>

#include "profile/profile.h"

namespace idleburn {

// How to record more with the profiler that made a file: whoever uses one is not sent to another.
struct RecordAgain {
  std::string_view tool;   // "nsys profile"
  std::string_view with;   // what makes it record the GPU: "--trace=cuda"
  std::string_view gpu;    // the same as a whole
  std::string_view names;  // so that it names what the host does
  std::string_view early;  // so that it has the launches of all work
};
const RecordAgain& HowToRecord(ProfilerKind profiler);

}  // namespace idleburn
