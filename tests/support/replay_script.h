#pragma once

#include <string>

#include "support/recorded_log.h"

namespace idleburn::testing {

// The script (tests/standin/README.md) by which the stand-in does again what a recording says that its GPUs did; its
// time 0 is the start of the recording. MIG instances are left out.
std::string ReplayScript(const RecordedLog& recorded);

}  // namespace idleburn::testing
