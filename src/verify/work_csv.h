#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "verify/measured_run.h"

namespace idleburn {

// A reading with every count of work that its input holds.
struct CountedRow {
  Instant end;
  double gpu_seconds = 0;
  std::array<double, kWorkUnitCount> work{};  // by WorkUnit; 0 for units that are not counted
};

// A run as read, before it is settled in which unit its work is compared. A log may count steps and samples; the
// choice needs all runs.
struct CountedRun {
  MeasuredRun run;                                            // without unit, work and pieces
  std::array<std::optional<double>, kWorkUnitCount> total{};  // by WorkUnit; absent if not counted
  std::vector<std::vector<CountedRow>> pieces;

  // The run with its work in `unit`. If that is not counted, in the first unit that is, so that a message can name
  // both; if none is, without work.
  [[nodiscard]] MeasuredRun In(std::optional<WorkUnit> unit) const;
  [[nodiscard]] bool Counts(WorkUnit unit) const { return total[static_cast<std::size_t>(unit)].has_value(); }
};

// The unit that all runs count: samples before tokens, requests, steps and epochs. A step comes late because it is
// another thing when the batch size changes. Absent if the runs have no unit in common.
std::optional<WorkUnit> CommonUnit(std::span<const CountedRun> runs);

// Cuts rows, which must be in order of time, where time passed that they say nothing about. A gap is a distance of
// more than 2.5 times what the usual distance explains, and more than 2.5 times what the row's own GPU-seconds
// explain. Example: rows one minute apart with a pause of an hour become two pieces.
std::vector<std::vector<CountedRow>> CutAtGaps(std::vector<CountedRow> rows);

// A log of work as CSV: a header, then a row for each step, epoch or window of time.
//   time_s       end of the row in seconds, since 1970 or on any clock; or `time`, the same or RFC 3339
//   gpu_seconds  allocated GPU-seconds, busy or not
//   steps, samples, tokens, epochs, requests   how many were done in it; without any of them the work is unknown
//   work         counts as steps if there is no column of steps
//   arm, block   of a switchback: which setting was on, and in which block; a change of either starts a new block
// Example: "time_s,gpu_seconds,steps" and "60,480,100": eight GPUs did 100 steps in a minute. Other columns are
// ignored.
struct WorkTable {
  struct Block {
    std::string arm;  // empty if the table has no such column
    CountedRun run;   // without name and hash of a file
  };
  std::vector<Block> blocks;  // in order of time; one block without arms
};

// Whether text begins with a header that has the column gpu_seconds.
bool SniffWorkCsv(std::string_view head);

// Reads the table. Fails, naming line and column, if a value is no number or negative, if times do not rise, or if
// there is no row.
Result<WorkTable> ReadWorkCsv(ByteSource& in);

}  // namespace idleburn
