#pragma once

#include <optional>

#include "compare/compared_sides.h"
#include "config/settings.h"

namespace idleburn {

// Where the runs before a change stand among all that the user's history knows of the same jobs: of the same project
// and command, on as many GPUs of the same model, with work counted in the same unit, started before the change, ended
// well. Absent where the history does not have every one of them with its work.
std::optional<KnownRuns> KnownRunsOf(const ComparedSides& sides, const Settings& settings, Instant now);

}  // namespace idleburn
