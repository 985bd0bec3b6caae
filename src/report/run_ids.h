#pragma once

#include <map>
#include <string>
#include <string_view>

#include "telemetry/run_facts.h"

namespace idleburn {

// Which run, job and experiment a report is about, as the environment of the measured command told it and its
// recording kept it (facts "env.NAME"). Empty where nothing told it: an id is never derived from names of files.
struct RunIds {
  std::string run;                           // of idleburn, 32 hexadecimal digits: the one of `idleburn history`
  std::string job;                           // of a batch system or platform
  std::string experiment;                    // of an experiment tracker, or IDLEBURN_EXPERIMENT
  std::map<std::string, std::string> named;  // every one of them by the name of its variable
};

// The fact that holds the id of a recorded run.
inline constexpr std::string_view kRunIdFact = "run.id";

RunIds IdsOf(const RunFacts& facts);
// "run 0f3a..., job 4711, experiment bert": those that are known; empty without any.
std::string IdsText(const RunIds& ids);

}  // namespace idleburn
