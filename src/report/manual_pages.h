#pragma once

#include <string>
#include <vector>

#include "config/flag_table.h"

namespace idleburn {

// Manual pages in the man(7) format. Flags come from the commands, so a page cannot differ from the help. Only the
// examples are written here.

// The page of one command.
std::string ManualPage(const CommandHelp& command);
// The page of the program, which lists its commands.
std::string MainManualPage(const std::vector<CommandHelp>& all);

}  // namespace idleburn
