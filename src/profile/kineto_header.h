#pragma once

#include <string_view>

#include "profile/profile_builder.h"

namespace idleburn {

// Members of a PyTorch trace beside its events that may be read. All others may name users, hosts and jobs, and are
// never looked at.
inline constexpr std::array<std::string_view, 10> kKinetoHeaders = {
    "schemaVersion", "deviceProperties",    "distributedInfo",     "baseTimeNanoseconds", "cuda_runtime_version",
    "cupti_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version",  "roctracer_version"};

// Puts one of them where a profile has it: devices' models, the rank, the relation to the wall clock, or facts of short
// values. `value`: JSON of any form, kScanPad bytes after it may be read; of another form than expected it is ignored.
void ReadKinetoHeader(std::string_view key, std::string_view value, ProfileBuilder& builder);

}  // namespace idleburn
