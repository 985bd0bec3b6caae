// Limits by which an audit names a cause (diagnose) and an agent counts its time. They stand here once, so that a fleet
// and an audit agree.

#pragma once

#include <cstdint>

namespace idleburn {

// Shorter idle time between work is a pause. Nobody could have released the GPU for it.
inline constexpr std::int64_t kIdleStretchSeconds = 60;

inline constexpr double kLinkFull = 0.6;  // of a link's speed; few links move much more than 80 %

// Pressure of a host, measured on a host with two cores, a few seconds for each load (docs/diagnosis.md).
inline constexpr double kMuchCpuWait = 0.5;  // of PSI cpu.some
inline constexpr double kIoFull = 0.1;       // of PSI io.full
inline constexpr double kCoreToSpare = 0.5;  // rounds to a whole core, as CPUs are never fully idle

}  // namespace idleburn
