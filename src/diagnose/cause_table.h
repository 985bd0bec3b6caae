#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "diagnose/finding.h"

namespace idleburn {

// Pools of time that do not overlap; fixes of one pool share it.
enum class Pool : std::uint8_t {
  kNone,
  kLoader,
  kCopy,
  kLaunch,
  kComm,
  kSync,
  kCheckpoint,
  kThrottle,
  kMemory,
  kIdle,
  kSpin,
  kCompute
};

// A cause of lost GPU time: what shows it, what refutes it, the one knob that isolates it, its levers in order. The
// levers of one cause recover the same time.
struct Cause {
  std::string_view id;
  std::string_view title;
  Pool pool;
  std::string_view evidence;
  std::string_view refuted;
  std::string_view isolate;
  std::array<std::string_view, 6> levers;  // the rest empty
};

std::span<const Cause> Causes();
// The row of an id, which must exist.
const Cause& CauseOf(std::string_view id);

}  // namespace idleburn
