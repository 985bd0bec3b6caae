#pragma once

#include <cstdint>

#include "profile/profile.h"

namespace idleburn {

// For profiles whose device events do not say which process launched them: each takes the process whose call has its
// correlation id. Where calls of several processes share the id of a device event, they cannot be told apart: then
// correlation_by_process becomes false. Returns the number of such device events.
std::int64_t FindLaunchProcesses(Profile& profile);

}  // namespace idleburn
