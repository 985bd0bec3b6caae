#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "base/work_unit.h"

namespace idleburn {

// What a run was, besides its speed: "command", "git.commit", "gpu.model", "gpu.count", "precision", "data",
// "driver". A missing key is unknown, which is not the same as unchanged.
using StaticFactors = std::map<std::string, std::string>;

// One reading of a run, over the time that ends at `end`: the work done, and the GPU-seconds that were allocated, busy
// or not. Allocated time counts because it is paid for.
struct WorkRow {
  Instant end;
  double gpu_seconds = 0;
  double work = 0;
};
// Readings in order of time without a gap between them. Correlation is estimated within a piece only.
using WorkPiece = std::vector<WorkRow>;

// Something that makes a run unfit for a verdict, whatever its figures say.
struct RunDoubt {
  std::string_view id;   // "clock_steps", "work_counter_restarted", or "unfit_run" for anything else
  std::string sentence;  // what was seen, and where
};

// A run as a comparison sees it. The run is the independent unit: on the command line, every file is one run.
struct MeasuredRun {
  std::string name;              // as people call it: a file or an id of the history
  std::string sha256;            // of the input; empty if it was no file
  std::optional<Instant> start;  // absent if no date is known
  std::optional<Instant> end;
  std::optional<WorkUnit> unit;             // absent if no work is counted
  double gpu_seconds = 0;                   // total
  double work = 0;                          // total
  std::vector<WorkPiece> pieces;            // empty if only totals are known
  std::optional<double> observed_fraction;  // of the allocated time, 0 to 1; absent if the input does not tell it
  bool telemetry = false;                   // rows are continuous telemetry, not a log of steps or epochs
  StaticFactors factors;
  std::vector<std::string> gpus;  // UUIDs; empty if not known
  std::vector<RunDoubt> doubts;
};

// Merges rows that only repeat a reading. A counter that is polled faster than it moves, or a gauge faster than it is
// renewed, repeats itself and pretends to know more than it does. Sums do not change. Three rules apply:
//  - a row that ends when the row before it ended repeats it, and is left out;
//  - a row without work joins the next row, which ends where the count moved;
//  - if at least a third of the rows equal their predecessor, but not all, each stretch of equal rows is one reading.
// A log whose rows are all equal stays as it is: nothing tells it from a steady job. For continuous telemetry only,
// since a log of steps has one row per step.
WorkPiece MergeRepeated(const WorkPiece& rows);

// Sums consecutive rows within each piece, so that 500 to about 1,000 rows remain of many. The correlation time can
// then reach slow noise. Rows are spread evenly over the sums; none is left over.
std::vector<WorkPiece> SumRows(const std::vector<WorkPiece>& pieces);

// The number of rows over all pieces.
std::size_t CountRows(const std::vector<WorkPiece>& pieces);
// GPU-seconds and work of all rows; `end` is that of the last.
WorkRow SumOf(const WorkPiece& rows);

// The mean time between the ends of neighbouring rows, in seconds. 0 if no piece has two rows.
double SecondsBetweenRows(const std::vector<WorkPiece>& pieces);

}  // namespace idleburn
