#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "verify/measured_run.h"
#include "verify/terms.h"
#include "verify/verdict.h"

namespace idleburn {
// Inputs of a comparison that are no recordings: a log of work as CSV, and captures of a profiler. A log says how much
// work was done and what GPU time it took, which is all that a saving needs.

// A reading with every count of work that its input holds.
struct CountedRow {
  Instant end;
  double gpu_seconds = 0;
  std::array<double, kWorkUnitCount> work{};  // by WorkUnit; 0 for units that are not counted
};

// A run as read, before the unit of its work is chosen. A log may count steps and samples, and the choice needs all
// runs.
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

// Cuts rows at gaps. Rows must be in order of time. A gap is a distance that is more than 2.5 times the usual distance,
// and more than 2.5 times what the row's own GPU-seconds explain. Example: rows one minute apart with a pause of an
// hour become two pieces.
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

// A profiler's capture of a job: few steps, each known to the nanosecond. One capture counts as one run, however many
// steps it holds, because steps of one capture share whatever differs from run to run.
struct StepCapture {
  std::string name;
  std::string sha256;                // of the input; empty if it was no file
  std::vector<double> step_seconds;  // all profiled steps in order, including the first and the last
  // Work per step, which must be the same on both sides. Absent if the capture does not tell it.
  std::optional<double> kernels_per_step;
  std::optional<double> compute_seconds_per_step;
  std::optional<Instant> start;  // absent: no date is known
};

// One side: its captures without their first and last steps. Times are in seconds, tau in steps.
struct CaptureSide {
  int captures = 0;
  int steps = 0;  // without the first and last of each capture
  double median_seconds = 0;
  double mean_seconds = 0;
  double tau = 1;
};

// The verdict on captures. It is about the step time and never about cash: a profiled step is no sample of a bill.
struct CaptureVerdict {
  Verdict verdict = Verdict::kNotShown;
  std::vector<VerdictReason> reasons;
  CaptureSide before, after;
  double level = 0.95;
  std::optional<double> fraction;          // off the median step; absent without steps
  std::optional<SavingInterval> saving;    // at `level`
  std::optional<SavingInterval> saving90;  // at twice the error of `level`: .90 for .95
  std::optional<double> mean_fraction;     // off the mean step, which a bill follows over whole cycles
  std::optional<DriftGuard> guard;
  std::uint64_t seed = 0;
  bool retrospective = false;
};

// Judges captures by the median of their steps (docs/verification.md, "The interval"). The median is used
// because a checkpoint or an evaluation inside a short capture would dominate its mean. `seed` and `resamples` are of
// the bootstrap: the same input gives the same verdict.
CaptureVerdict JudgeCaptures(std::span<const StepCapture> before, std::span<const StepCapture> after,
                             const VerdictTerms& terms, std::uint64_t seed, int resamples = 2000);

}  // namespace idleburn
