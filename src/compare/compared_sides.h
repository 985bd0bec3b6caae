#pragma once

#include <string>
#include <vector>

#include "compare/compared_input.h"
#include "compare/comparison_report.h"
#include "verify/judge.h"

namespace idleburn {

// What the command line says of the runs on both sides.
struct SideRequest {
  std::vector<std::string> before, after;
  std::vector<std::string> untouched_before, untouched_after;
  std::vector<std::string> exclude;  // RUN=REASON
  std::string arms;                  // BEFORE,AFTER
  bool kept = false;                 // the work of runs that failed was kept
};

// The inputs of both sides as read, without what is excluded.
struct ComparedSides {
  std::vector<ComparedInput> before, after;
  std::vector<ComparedInput> untouched_before, untouched_after;
  std::vector<DataExclusion> exclusions;
  std::vector<ComparisonReport::Input> inputs;  // for the report, the excluded ones as well

  [[nodiscard]] bool captures() const { return !before.empty() && before.front().capture != nullptr; }
};

// Reads all inputs and puts the blocks of a switchback on their sides. Fails on what cannot be read, and on sides that
// are empty, hold a file twice, or mix captures with runs.
Result<ComparedSides> ReadSides(const SideRequest& request, const InputReading& reading, bool switchback);

// The unit that all runs count, or `wanted`.
std::optional<WorkUnit> UnitOfSides(const ComparedSides& sides, std::optional<WorkUnit> wanted);
// The runs in that unit. Runs that failed are counted with the next one of their side: their time, not their work.
void FillComparison(ComparedSides& sides, std::optional<WorkUnit> unit, bool kept, Comparison& comparison);

// Judges profilers' captures by their steps, and puts beside it what the diagnosis of the capture before foretold.
// Fills in verdict, captures and exclusions of the report. Of a job's ranks one stays on its side.
Result<void> JudgeCaptureSides(ComparedSides& sides, const VerdictTerms& terms, ComparisonReport& report);

}  // namespace idleburn
