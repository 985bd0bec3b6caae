#pragma once

#include <cstdint>

#include "profile/profile.h"

namespace idleburn {

// For profiles whose device events do not say which process launched them: each takes the process whose call has its
// correlation id. Where calls of several processes share the id of a device event, they cannot be told apart: then
// correlation_by_process becomes false. Returns the number of such device events.
std::int64_t FindLaunchProcesses(Profile& profile);

// Whether several processes launched its events, as far as these say so. One number may then stand for several GPUs.
bool LaunchedBySeveral(const ProfiledDevice& device);

// An id that kCallsOfNoId or more calls of one process had, not all at one time, is none ("0" in every row, or numbers
// that begin anew with each step): its device events become events without a launch. Returns the number of these. Of
// fewer calls the first of the file launched.
inline constexpr std::int64_t kCallsOfNoId = 4;
std::int64_t DropReusedIds(Profile& profile);

}  // namespace idleburn
