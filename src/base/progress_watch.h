#pragma once

#include <cstdint>
#include <functional>

namespace idleburn {

// Hears how far long work has come, so that a terminal can show it: `done` of `total`, in what the work counts. The
// worker calls it often, from its own thread; the listener decides what is shown. May be empty.
using ProgressWatch = std::function<void(std::uint64_t done, std::uint64_t total)>;

}  // namespace idleburn
