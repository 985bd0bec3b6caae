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

// The inputs of both sides as read, without those that are excluded.
struct ComparedSides {
  std::vector<ComparedInput> before, after;
  std::vector<ComparedInput> untouched_before, untouched_after;
  std::vector<DataExclusion> exclusions;
  std::vector<ComparisonReport::Input> inputs;  // for the report, including excluded ones

  [[nodiscard]] bool captures() const { return !before.empty() && before.front().capture != nullptr; }
};

// Reads all inputs, and puts the blocks of a switchback on their sides. Fails if an input cannot be read, and if a
// side is empty, holds a file twice, or mixes captures with runs.
Result<ComparedSides> ReadSides(const SideRequest& request, const InputReading& reading, bool switchback);

// `wanted`, or the unit that all runs count. Absent if they have none in common.
std::optional<WorkUnit> UnitOfSides(const ComparedSides& sides, std::optional<WorkUnit> wanted);
// Fills in the runs in that unit. Unless their work was kept, failed runs are joined with the next run of their side
// that ended well: their time counts, their work does not. Otherwise a job that crashes often would look cheap.
void FillComparison(ComparedSides& sides, std::optional<WorkUnit> unit, bool kept, Comparison& comparison);

// Judges profilers' captures by their steps, and compares each with what its diagnosis predicted. Fills in verdict,
// captures and exclusions of the report. Of the ranks of a job one stays on each side, because all ranks are one run.
Result<void> JudgeCaptureSides(ComparedSides& sides, const VerdictTerms& terms, ComparisonReport& report);

}  // namespace idleburn
