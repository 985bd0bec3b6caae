#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "verify/measured_run.h"

namespace idleburn {

// A reading with all counts of work that its input holds.
struct CountedRow {
  Instant end;
  double gpu_seconds = 0;
  std::array<double, kWorkUnitCount> work{};  // by WorkUnit; 0 for what is not counted
};

// A run as it was read, before it is settled in which unit its work is compared.
struct CountedRun {
  MeasuredRun run;                                            // all of it but unit, work and pieces
  std::array<std::optional<double>, kWorkUnitCount> total{};  // by WorkUnit; absent: not counted
  std::vector<std::vector<CountedRow>> pieces;

  // In that unit. Where it is not counted: in the first that is, so that both can be named; without work if none is.
  [[nodiscard]] MeasuredRun In(std::optional<WorkUnit> unit) const;
  [[nodiscard]] bool Counts(WorkUnit unit) const { return total[static_cast<std::size_t>(unit)].has_value(); }
};

// The unit that all of them count: samples before tokens, requests, steps and epochs, because a step is another thing
// when its batch is changed; absent if they have none in common.
std::optional<WorkUnit> CommonUnit(std::span<const CountedRun> runs);

// Rows in order of time, cut where time passed of which they say nothing: where a row ends later after the one before
// than both its GPU-seconds and the distance of the others explain (2.5 times).
std::vector<std::vector<CountedRow>> CutAtGaps(std::vector<CountedRow> rows);

}  // namespace idleburn
