#pragma once

#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "profile/profile.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// What `nsys export --type sqlite` makes of a report of Nsight Systems, 2022 to 2026: tables and columns come and go
// with the version, with what was traced and with what the trace holds. What is absent is taken as absent; rows that
// cannot be are counted.
//
// Kernels, copies, sets and (traced as one piece) CUDA graphs are the device's work; a graph counts as a kernel. A
// device is told by TARGET_INFO_CUDA_DEVICE, since every process numbers its own; without it, by that number. Calls are
// joined to device events within a process; where the device tables name no process, each event takes the process of
// the call that has its correlation id, and Profile::correlation_by_process is false if several have it. Steps are what
// StepFinder finds among NVTX ranges.

// True for any SQLite database: ReadNsys says what another one is instead.
bool SniffNsys(std::string_view head);
// A source that is a plain SQLite file is opened by its name; any other is first written to a temporary file.
Result<Profile> ReadNsys(ByteSource& in, DataQuality& quality);

}  // namespace idleburn
