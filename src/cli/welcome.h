#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace idleburn {

// What `idleburn` without a command found around it. Everything is read within milliseconds: no driver is called, and
// nothing is written.
struct Surroundings {
  std::string driver;                           // the file that shows the NVIDIA driver; empty if none was found
  std::vector<std::string> logs;                // files here that `audit` reads, the newest first
  std::string script;                           // a training script here, such as "train.py"; empty if there is none
  Result<std::int64_t> runs = std::int64_t{0};  // in the history; an error if it could not be read
};

// Looks at the current folder, at the places of the driver and at the user's history.
Surroundings LookAround();

// What `idleburn` without a command prints: what it is, what is here, and the three commands that fit. At most 12
// lines.
std::string WelcomeText(const Surroundings& here);

// A file name as one word of a shell command: quoted where a shell would read more than a name in it.
std::string ShellWord(const std::string& name);

}  // namespace idleburn
