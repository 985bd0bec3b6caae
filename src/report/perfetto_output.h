#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "diagnose/trace_diagnosis.h"

namespace idleburn {

// Writes the idle gaps of traces as a Chrome trace, which ui.perfetto.dev opens: for each GPU a track with what stood
// between it and its next event, a track with the cause that claims that time, and one with the profiled steps. Times
// are on the clock of the trace, so its own events can be added to traceEvents and lie beside. They are not repeated:
// they may be gigabytes, and Perfetto opens the trace itself.
//
// `write` receives the text piece by piece, in constant memory. `profiles` are those of the diagnosis.
Result<void> WritePerfetto(std::span<const Profile> profiles, const TraceDiagnosis& diagnosis,
                           const std::function<Result<void>(std::string_view)>& write);

}  // namespace idleburn
