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

// A log of work as CSV: a header and a row for each step, epoch or window of time.
//   time_s       end of the row's interval in seconds, of the epoch or of any clock of its own; or `time`, the same or
//                RFC 3339
//   gpu_seconds  that were allocated, busy or not
//   steps, samples, tokens, epochs, requests   how many were done in it; none of them: the work is not known
//   work         counts as steps where there are none
//   arm, block   of a switchback: which of two settings was on, and in which block (a new one where arm changes)
// Other columns are passed over.
struct WorkTable {
  struct Block {
    std::string arm;  // empty: the table has none
    CountedRun run;   // without the name and hash of a file
  };
  std::vector<Block> blocks;  // one, where there are no arms; in order of time
};

// Whether text begins with such a header.
bool SniffWorkCsv(std::string_view head);

// Fails, naming line and column, on what is no number, is negative, or where times do not rise.
Result<WorkTable> ReadWorkCsv(ByteSource& in);

}  // namespace idleburn
