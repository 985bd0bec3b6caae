#pragma once

#include <string>
#include <vector>

#include "compare/compared_input.h"
#include "compare/comparison_report.h"
#include "verify/judge.h"

namespace idleburn {

// What the command line says about the runs of both sides, as written.
struct SideRequest {
  std::vector<std::string> before, after;
  std::vector<std::string> untouched_before, untouched_after;
  std::vector<std::string> exclude;  // RUN=REASON
  std::string arms;                  // BEFORE,AFTER
  bool kept = false;                 // the work of failed runs was kept and counts
};

// The inputs of both sides as read, without excluded ones.
struct ComparedSides {
  std::vector<ComparedInput> before, after;
  std::vector<ComparedInput> untouched_before, untouched_after;
  std::vector<DataExclusion> exclusions;
  std::vector<ComparisonReport::Input> inputs;  // for the report, including excluded ones

  [[nodiscard]] bool captures() const { return !before.empty() && before.front().capture != nullptr; }
};

// Reads all inputs and puts the blocks of a switchback on their sides. Fails if an input cannot be read. Fails if a
// side is empty or mixes captures with runs, or if a file is given twice, by name or by content.
Result<ComparedSides> ReadSides(const SideRequest& request, const InputReading& reading, bool switchback);

// Returns `wanted`, or else the first unit that all runs count. Absent if they have none in common.
std::optional<WorkUnit> UnitOfSides(const ComparedSides& sides, std::optional<WorkUnit> wanted);
// Fills in the runs, in that unit. Failed runs are joined with the next run of their side that ended well: their time
// counts, their work does not. Otherwise a job that crashes often would look cheap. `kept` means that a checkpoint kept
// the work, and then nothing is joined.
void FillComparison(ComparedSides& sides, std::optional<WorkUnit> unit, bool kept, Comparison& comparison);

// Judges profilers' captures by their steps, and compares each with what its diagnosis predicted. Fills in verdict,
// captures and exclusions of the report. One rank of a job stays on each side, because all ranks are one run. Fails if
// a capture has no device.
Result<void> JudgeCaptureSides(ComparedSides& sides, const VerdictTerms& terms, ComparisonReport& report);

}  // namespace idleburn
