#pragma once

#include <vector>

#include "measure/sampler.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// How well a run was measured and what that took, as facts for its recording. Times are nanoseconds.
//   sampler.ticks, .missed       ticks that were served, and those that came too late to be
//   sampler.late_p99, .late_max  how long after its time a tick began
//   sampler.work_p99, .work_max  how long serving it took
//   sampler.abandoned            "yes" if a call never returned
//   sampler.failed               what ended a part of the measuring, or kept it from beginning
//   sampler.calls.FUNCTION       of a driver's function: calls, p50, p99, max, with spaces between
std::vector<RunFact> SamplerFacts(const SamplerStatistics& statistics);

}  // namespace idleburn
