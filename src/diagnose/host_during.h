#pragma once

#include <span>

#include "diagnose/host_evidence.h"
#include "profile/profile.h"
#include "telemetry/host_timeline.h"

namespace idleburn {

// What the host did while the profiles were recorded. Profiles without a clock are taken to be of all that time; of
// profiles from another time the host tells nothing.
HostEvidence HostDuring(std::span<const Profile> profiles, const HostTimeline& host);

}  // namespace idleburn
