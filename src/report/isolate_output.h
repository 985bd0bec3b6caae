#pragma once

#include <string>

#include "base/run_ids.h"
#include "trial/series.h"

namespace idleburn {

// What a series says, and of what.
struct IsolateReport {
  std::string command;  // as it is shown
  SeriesSpec spec;
  SeriesResult result;
  RunIds ids;  // of the environment of the command
};

// For people, the verdict first. `width`: columns of a line.
std::string IsolateText(const IsolateReport& report, int width);
// The document of docs/json.md, schema idleburn.isolate/1.
std::string IsolateJson(const IsolateReport& report);

}  // namespace idleburn
