#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace idleburn {

// One flag of a command. `text`, `list` and `on` say where its value goes; exactly one is set.
struct Flag {
  std::string name;   // "--price", or a bare word for a positional: "input"
  std::string value;  // what stands for its value in the help: "RATE"
  std::string help;
  std::string* text = nullptr;               // one value
  std::vector<std::string>* list = nullptr;  // repeatable; a positional list takes all that is left
  bool* on = nullptr;                        // a switch
  bool required = false;
  bool several = false;  // a list takes all words up to the next flag
};

// Reads the arguments of `idleburn COMMAND`. With --help fills *help instead of the flags. A wrong flag is a usage
// error that names the nearest right one.
Result<void> ReadFlags(const std::string& command, const std::string& about, const std::vector<Flag>& flags,
                       const std::vector<std::string>& arguments, std::string* help);

}  // namespace idleburn
