#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/flag_table.h"
#include "terminal/environment.h"
#include "terminal/output.h"

namespace idleburn {

// The program in one line, for its help and its greeting.
inline constexpr std::string_view kWhatItIs =
    "where GPU dollars went, why, what would fix it, and how much that would save";

// One command of `idleburn COMMAND ...`. A new command is a row of cli/commands.cc, and its function a declaration in
// cli/commands.h. Commands know nothing of each other's flags; a flag that several have is added by a shared function,
// such as LiveFlags::AddTo.
struct Command {
  std::string_view name;
  std::string_view summary;  // for the list in the help
  // Runs with the words after the command's name. Returns the exit code of the process. An error is printed by
  // RunProgram: exit 1, or 2 for wrong use. A command that found something, such as a regression, returns a code and no
  // error.
  Result<int> (*run)(const std::vector<std::string>& arguments, const Environment& environment);
  bool has_actions = false;  // its first word is an action with a help of its own: `idleburn history list --help`
};

// All commands, in the order of the help.
std::span<const Command> Commands();

// All commands with their flags, as their help has them, for completions and manual pages. The commands do nothing else
// (config/flag_table.h).
std::vector<CommandHelp> AllCommandHelp(const Environment& environment);

// The whole program: finds the command, runs it, and prints an error on one line. Returns the exit code of the process.
// It reads no clock and no terminal, so a test can run it with an Environment of its own.
int RunProgram(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
