#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "telemetry/run_facts.h"
#include "text/time_zone.h"

namespace idleburn {

// The help of --window.
inline constexpr const char* kWindowHelp =
    "what was rented: gaps within it are billed, as unobserved; rows outside are left out (a day stands for its start)";

// Reads --window START..END: two times, with a zone or in `zone` (absent: UTC), or days, which stand for their start.
// Refuses a time that daylight saving repeats or skips, and an end that is not after the start.
Result<RunWindow> ParseWindow(std::string_view text, const std::optional<TimeZone>& zone);

}  // namespace idleburn
