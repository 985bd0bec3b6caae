#pragma once

#include <cstddef>

#include "profile/profile.h"

namespace idleburn {

// The profile of one of its devices as if `removed` had not happened: these instants are cut out of the time line and
// what comes later moves up, on the host and on the device alike. Ranges that lie in them become empty.
Profile WithoutTime(const Profile& profile, std::size_t device, const IntervalSet& removed);

}  // namespace idleburn
