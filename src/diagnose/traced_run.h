#pragma once

#include <span>

#include "classify/totals.h"
#include "diagnose/trace_diagnosis.h"
#include "profile/profile.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"

namespace idleburn {

// What a traced job held, as a run that can be priced: each device for its deciding window. Idle time is idle (held: a
// traced process runs), exposed copies and communication are underutilized, computing is productive. Utilization is the
// share that computes, so that waste is all the time a fix could give back. A trace has no seconds to put in bands and
// no readings, so compute_bound and the ticks stay 0. Enters the devices; counts clocks that say no date.
RunResult TracedRun(std::span<const Profile> profiles, const TraceDiagnosis& diagnosis, DeviceTable& devices,
                    DataQuality& quality);

}  // namespace idleburn
