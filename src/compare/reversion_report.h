#pragma once

#include <string>

#include "base/run_ids.h"
#include "verify/reversion.h"

namespace idleburn {

// What jobs that were selected for their value did, beside those that were left alone.
struct ReversionReport {
  std::string name;  // of the file
  std::string sha256;
  double level = 0.95;
  ReversionReading reading;
  std::string version;
  RunIds ids;
};

}  // namespace idleburn
