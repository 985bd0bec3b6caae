#pragma once

#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "profile/profile.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// The Chrome trace that the profiler of TensorFlow and JAX writes beside its xplane.pb: *.trace.json.gz. Processes are
// planes, threads are lines; what is in them: xla_rows.h. It holds a million events at most, the latest being left
// out of a longer profile, so that what a full one lacks proves nothing.

// True for Chrome traces that name such planes. A trace of PyTorch is one too for SniffKineto, never for this.
bool SniffXlaTrace(std::string_view head);
Result<Profile> ReadXlaTrace(ByteSource& in, DataQuality& quality);

}  // namespace idleburn
