#pragma once

#include <string_view>

#include "import/importer.h"

namespace idleburn {

// JSON lines of a sampling agent: {"mono_ns", "wall_ns", "gpu_uuid" or "gpu_index", "util_pct", ...}. Time runs on
// the monotonic clock, anchored to the wall clock of a host's first line: a step of the wall clock moves nothing,
// the interval it falls into is unobserved.
bool SniffAgentJsonl(std::string_view head);
Result<void> ImportAgentJsonl(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
