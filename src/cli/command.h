#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "terminal/environment.h"
#include "terminal/output.h"

namespace idleburn {

// One command of `idleburn COMMAND ...`. A new command is a row of cli/commands.cc.
struct Command {
  std::string_view name;
  std::string_view summary;  // for the list in the help
  // Runs with the words after the command's name. Returns the exit code, or an error: exit 1, or 2 for wrong use.
  Result<int> (*run)(const std::vector<std::string>& arguments, const Environment& environment);
};

// All commands, in the order of the help.
std::span<const Command> Commands();

// The whole program: finds the command, runs it, and prints an error on one line. Returns the exit code of the
// process.
int RunProgram(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
