#pragma once

#include <optional>
#include <vector>

#include "cli/compared_sides.h"

namespace idleburn {

// Judges profilers' captures by their steps, and puts beside it what the diagnosis of the capture before foretold.
// Fills in verdict, captures and inputs of the report.
Result<void> JudgeCaptureSides(const ComparedSides& sides, const std::optional<Claim>& claim, ComparisonReport& report);

}  // namespace idleburn
