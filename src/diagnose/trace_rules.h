#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "diagnose/record_again.h"
#include "diagnose/trace_facts.h"

namespace idleburn {

// What a figure must reach.
struct FactTest {
  Fact fact;
  enum class Side : std::uint8_t { kAtLeast, kAbove, kBelow } side;
  double border;

  [[nodiscard]] bool Holds(double value) const {
    if (side == Side::kBelow) return value < border;
    return side == Side::kAtLeast ? value >= border : value > border;
  }
};

// A cause, the time it claims and what must be seen, or not be seen, for it.
struct TraceRule {
  std::string_view cause;   // id of the cause table
  std::string_view claims;  // the time in words
  TimeSet (*time)(const TraceScene&);
  double least;                          // share of the window that it must have
  std::span<const FactTest> required;    // all of them, measured
  std::span<const FactTest> any_of;      // one of them, unless there are none
  std::span<const FactTest> refuted_by;  // none of them
  enum class Gain : std::uint8_t {
    kAll,       // a fix can give back all that is claimed
    kOverlap,   // at most what is left beside the longer of copies and kernels once they run at the same time
    kAllRanks,  // the same if every rank was traced, else nobody knows
    kUnknown
  } gain;
  bool peers_confirm = false;  // the traces of all ranks together are a second signal
};

// In the order in which they claim. What one has claimed is nobody else's.
std::span<const TraceRule> TraceRules();

// A part of lost time that must not go unmentioned, whoever claims it.
struct TestedShare {
  std::string_view id;
  std::string_view name;  // "idle time at the end of the steps"
  TimeSet (*time)(const TraceScene&);
  std::string_view next;  // the measurement that would tell more; empty: as `record` says
  std::string_view RecordAgain::*record = nullptr;
};
std::span<const TestedShare> TestedShares();

}  // namespace idleburn
