#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/flag_table.h"

// What is generated from the help of the commands, so that it cannot differ from it.
namespace idleburn {

// The completions of a shell: bash, zsh or fish. Absent for another shell. They hold every word, so a Tab does not
// start the program. After `--` the words belong to the user's command.
std::optional<std::string> Completions(std::string_view shell, const std::vector<CommandHelp>& commands);

// Manual pages in the man(7) format. Only the examples are written in manual_pages.cc.

// The page of one command.
std::string ManualPage(const CommandHelp& command);
// The page of the program, which lists its commands.
std::string MainManualPage(const std::vector<CommandHelp>& all);

}  // namespace idleburn
