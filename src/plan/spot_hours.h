#pragma once

#include <chrono>
#include <ratio>

namespace idleburn {

// Spans of time that are estimates. Any span of <chrono>, Nanos too, becomes Hours by itself, so seconds and hours
// cannot be mixed up.
using Hours = std::chrono::duration<double, std::ratio<3600>>;

}  // namespace idleburn
