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

// Why a command could not be started, with the exit code of a shell: 127 if it was not found, otherwise 126. `run`
// ends with that code.
struct StartFailure {
  Error error;
  int exit_code = 126;
};

// Limits of a process and of all that it starts. They apply before its program begins. `isolate` runs a command on
// fewer CPUs with them.
struct Confinement {
  std::vector<int> cpus;  // allowed CPUs; empty: those of idleburn
  int group = -1;         // open cgroup.procs of its control group; -1: idleburn's group
};

// How to start a process.
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

// Starts a process that inherits everything else: standard input, process group, terminal. Returns once the program
// runs, or the reason why it does not. posix_spawn was no choice: it cannot bind a process to CPUs or put it into a
// control group before its program begins.
tl::expected<pid_t, StartFailure> Spawn(const SpawnSpec& spec);

}  // namespace idleburn
