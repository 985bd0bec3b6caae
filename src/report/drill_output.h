#pragma once

#include <optional>
#include <string>

#include "base/run_ids.h"
#include "trial/drill_reading.h"

namespace idleburn {

// What a drill says, and of what.
struct DrillReport {
  std::string command;  // as it is shown
  std::string resume;
  std::string cloud;  // of --as
  std::optional<Nanos> uptime;
  std::int64_t nodes = 1;
  DrillSpec spec;
  DrillResult result;
  DrillReading reading;
  RunIds ids;  // of the environment of the command
};

// For people, the verdict first. `width`: columns of a line.
std::string DrillText(const DrillReport& report, int width);
// The same for a page or a comment.
std::string DrillMarkdown(const DrillReport& report);
// The document of docs/json.md, schema idleburn.drill/1.
std::string DrillJson(const DrillReport& report);

}  // namespace idleburn
