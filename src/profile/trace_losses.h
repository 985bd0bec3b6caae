#pragma once

#include "base/byte_source.h"
#include "profile/trace_reader.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// Counts what of a trace could not be read, once it has been. True if entries are missing.
bool CountLosses(const TraceTally& tally, const ByteSource& in, DataQuality& quality);

}  // namespace idleburn
