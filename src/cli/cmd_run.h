#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "history/run.h"

namespace idleburn {

// What starts a run besides its words.
struct RunLaunch {
  std::optional<KeptForecast> forecast;                                         // kept with the run
  std::vector<std::pair<std::string, std::string>> environment;                 // of the command, added to ours
  std::function<void(const HistoryRun& run)> ended = [](const HistoryRun&) {};  // with all that is kept of it
};

// As RunRun, for another command, which hands over to it.
Result<int> LaunchRun(const std::vector<std::string>& arguments, const Environment& environment,
                      const RunLaunch& launch);

}  // namespace idleburn
