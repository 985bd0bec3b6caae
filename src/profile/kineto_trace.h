#pragma once

#include <string_view>

#include "base/byte_source.h"
#include "profile/profile.h"
#include "profile/trace_reader.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// True if the first bytes of a file look like a Chrome trace, which is what PyTorch's profiler (Kineto) exports.
bool SniffKineto(std::string_view head);

// Reads a trace of PyTorch's profiler (CUDA, ROCm; all spellings since 2021) in one pass. Memory is that of the rows of
// the profile and a window of the file. What is doubtful is counted in `quality`; an error is only what cannot be read
// at all. A trace without device events is no error: it has no devices.
Result<Profile> ReadKineto(ByteSource& in, DataQuality& quality, TraceLimits limits = {});

}  // namespace idleburn
