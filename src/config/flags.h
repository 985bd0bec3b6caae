#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace idleburn {

// One flag of a command. Of `text`, `list` and `on` exactly one is set; it receives the value and must outlive the
// reading.
struct Flag {
  std::string name;   // "--price"; a bare word such as "input" is a positional
  std::string value;  // its value in the help: "RATE"
  std::string help;
  std::string* text = nullptr;               // one value
  std::vector<std::string>* list = nullptr;  // repeatable; a positional list takes all words that are left
  bool* on = nullptr;                        // a switch
  bool required = false;
  bool several = false;  // for a list: takes all words up to the next flag
};

// Reads the words after `idleburn COMMAND` into the flags. With --help it fills `*help` instead. A wrong flag is a
// usage error that names the most similar one. An empty value is an error too: it comes from a script's unset
// variable, and must not count as "not given".
Result<void> ReadFlags(const std::string& command, const std::string& about, const std::vector<Flag>& flags,
                       const std::vector<std::string>& arguments, std::string* help);

}  // namespace idleburn
