#pragma once

#include <optional>
#include <string>

#include "telemetry/live_sink.h"

namespace idleburn {

// From when to when a run lasted, where that is known beyond its readings: a workload that was started and waited for,
// or a machine that was rented.
struct RunWindow {
  std::optional<Instant> start;
  std::optional<Instant> end;
  bool named = false;  // by the user, who says what was rented, not by what measured

  // The facts by which a recording tells them, in nanoseconds.
  static constexpr const char* kStartFact = "window.start_ns";
  static constexpr const char* kEndFact = "window.end_ns";
  static RunFact StartFact(Instant t) { return {kStartFact, std::to_string(t.nanos())}; }
  static RunFact EndFact(Instant t) { return {kEndFact, std::to_string(t.nanos())}; }
  // Takes such a fact; others, and what is no number, change nothing.
  void Take(const RunFact& fact);
};

}  // namespace idleburn
