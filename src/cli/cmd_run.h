#pragma once

#include <functional>
#include <memory>
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

// `idleburn run` in two steps, for another command that hands over to it: a run whose words are understood, and nothing
// of it is started; null if the help was asked for, and printed. Then the exit code, which is the workload's.
struct ReadyRun;
Result<std::shared_ptr<ReadyRun>> ReadRunWords(const std::vector<std::string>& arguments,
                                               const Environment& environment);
Result<int> StartRun(ReadyRun& run, const Environment& environment, const RunLaunch& launch);

}  // namespace idleburn
