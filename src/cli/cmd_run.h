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

// What a run is started with besides its words. `plan --launch` fills it in; a plain `run` leaves it empty.
struct RunLaunch {
  std::optional<KeptForecast> forecast;                          // kept with the run
  std::vector<std::pair<std::string, std::string>> environment;  // variables of the command, added to ours
  std::function<void(const HistoryRun& run)> ended = [](const HistoryRun&) {
  };  // called at the end with everything that is kept of the run
};

// `idleburn run` in two steps, so that another command can check everything before it hands over.
//
// ReadRunWords checks the words and starts nothing. It returns null if the help was printed. It fails on wrong flags
// and on settings that the run cannot use. StartRun runs the command and returns its exit code; it does not fail after
// the command has started.
struct ReadyRun;
Result<std::shared_ptr<ReadyRun>> ReadRunWords(const std::vector<std::string>& arguments,
                                               const Environment& environment);
Result<int> StartRun(ReadyRun& run, const Environment& environment, const RunLaunch& launch);

}  // namespace idleburn
