#pragma once

#include "compare/compared_sides.h"

namespace idleburn {

// Judges profilers' captures by their steps, and puts beside it what the diagnosis of the capture before foretold.
// Fills in verdict, captures and exclusions of the report. Of a job's ranks one stays on its side.
Result<void> JudgeCaptureSides(ComparedSides& sides, const VerdictTerms& terms, ComparisonReport& report);

}  // namespace idleburn
