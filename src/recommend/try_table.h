#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "recommend/try_patterns.h"

namespace idleburn {

// The time that a try can reach at most.
enum class Reach : std::uint8_t {
  kIdleStretches,  // idle time that somebody could have used
  kWaste,          // all time not busy
  kPauses,         // time not busy, outside idle stretches
  kBusy            // busy time: the same work gets cheaper
};
inline constexpr std::size_t kReachCount = 4;
std::string_view Name(Reach r);     // "idle_stretches"
std::string_view InWords(Reach r);  // "the idle time in long stretches"

// A lever that a pattern suggests. The settings are for PyTorch, which most logs are of; a log does not say.
struct TryRow {
  Pattern pattern;
  std::string_view lever;
  Reach reach;
  std::string_view how;      // exact settings; empty: those depend on the GPU (recommend/try_settings.h)
  std::string_view unseen;   // what a plain log cannot show and would speak against it
  std::string_view confirm;  // the measurement that would prove the cause
};

// Of one pattern in the order in which to try them.
std::span<const TryRow> TryRows();

}  // namespace idleburn
