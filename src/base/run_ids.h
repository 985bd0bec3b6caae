#pragma once

#include <map>
#include <set>
#include <string>

namespace idleburn {

// Which run, job and experiment a report is about, as the environment told it. It lets a report be joined with an
// experiment tracker or a scheduler. A field is empty if nothing told it: an id is never derived from names of files.
struct RunIds {
  std::string run;                           // of idleburn, 32 hexadecimal digits: the one of `idleburn history`
  std::string job;                           // of a batch system or platform
  std::string experiment;                    // of an experiment tracker, or IDLEBURN_EXPERIMENT
  std::map<std::string, std::string> named;  // every one of them by the name of its variable
  std::set<std::string> not_shared;          // of several runs: "run", "job", "experiment" in which they differ

  bool operator==(const RunIds&) const = default;
};

}  // namespace idleburn
