#pragma once

#include <sys/types.h>

#include <atomic>
#include <csignal>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/result.h"

namespace idleburn {

// Why a command could not be started, and the exit code a shell would end with: 127 where it was not found, else 126.
struct StartFailure {
  Error error;
  int exit_code = 126;
};

// What a process, and all that it starts, may use of the machine. Set before its program begins.
struct Confinement {
  std::vector<int> cpus;  // those it may run on; empty: those that we may
  int group = -1;         // cgroup.procs of the control group it is put into, open for writing; -1: ours
};

struct SpawnSpec {
  std::vector<std::string> command;                              // the program, looked for in PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours, or in place of a name in it
  int out = -1;                                                  // becomes its standard output; -1: ours
  int err = -1;                                                  // becomes its standard error; -1: ours
  sigset_t mask = {};                                            // its blocked signals
  bool ignores_child_signal = false;                             // SIGCHLD is ignored when it starts
  std::atomic<pid_t>* told = nullptr;                            // in shared memory; it puts its number there first
  Confinement confinement;
  std::string folder;  // its working directory; empty: ours
};

// Starts a process with everything else as it is here: standard input, process group, terminal.
// Returns once the program runs, or says why it does not.
tl::expected<pid_t, StartFailure> Spawn(const SpawnSpec& spec);

}  // namespace idleburn
