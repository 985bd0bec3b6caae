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

// What a run was, besides how fast: "command", "git.commit", "gpu.model", "gpu.count", "precision", "data", "driver".
// A key that is absent was not to be had, which is not the same as unchanged.
using StaticFactors = std::map<std::string, std::string>;

// One reading of a run: the GPU-seconds that were allocated, busy or not, and the work done, in the time that ends at
// `end`.
struct WorkRow {
  Instant end;
  double gpu_seconds = 0;
  double work = 0;
};
// A stretch of readings without a gap between them, in order of time.
using WorkPiece = std::vector<WorkRow>;

// What makes a run unfit for a verdict, whatever its figures say.
struct RunDoubt {
  std::string_view id;   // "clock_steps", "work_counter_restarted", or "unfit_run" for all else
  std::string sentence;  // what was seen, and where
};

// A run as a comparison sees it: the independent unit. On the command line every file is one run.
struct MeasuredRun {
  std::string name;              // how people call it: a file, an id of the history
  std::string sha256;            // of the input; empty if there is no file
  std::optional<Instant> start;  // absent: no date is known
  std::optional<Instant> end;
  std::optional<WorkUnit> unit;             // absent: no count of work
  double gpu_seconds = 0;                   // in all
  double work = 0;                          // in all
  std::vector<WorkPiece> pieces;            // empty: only the totals are known
  std::optional<double> observed_fraction;  // of the allocated time; absent: the input says nothing of it
  bool telemetry = false;                   // rows come from continuous telemetry, not from a log of steps or epochs
  StaticFactors factors;
  std::vector<std::string> gpus;  // UUIDs; empty: not known
  std::vector<RunDoubt> doubts;
};

// Rows must be true readings: a counter that is polled faster than it moves, or a gauge faster than it is renewed,
// repeats itself and only pretends to know more. Nothing is lost, rows only grow:
//  - a row that ends when the one before it ended is that reading again, and is left out;
//  - a row without work joins the next one, which ends where the count moved;
//  - where at least a third of the rows say exactly what the row before said, and not all do, each stretch of equal
//    rows is one reading. A log whose every row is the same stays as it is: nothing tells it from a steady job.
// Meant for continuous telemetry; a log of steps has one row a step by itself.
WorkPiece MergeRepeated(const WorkPiece& rows);

// Sums consecutive rows within each piece, so that at most about a thousand are left of all (500 or more, of many):
// slow noise is then within reach of the correlation time. Rows are spread evenly, none is left over.
std::vector<WorkPiece> SumRows(const std::vector<WorkPiece>& pieces);

std::size_t CountRows(const std::vector<WorkPiece>& pieces);
// GPU-seconds and work of all rows, at the end of the last.
WorkRow SumOf(const WorkPiece& rows);

// Mean time from one row's end to the next within pieces, in seconds; 0 where no piece has two rows.
double SecondsBetweenRows(const std::vector<WorkPiece>& pieces);

}  // namespace idleburn
