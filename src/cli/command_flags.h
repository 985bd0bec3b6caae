#pragma once

#include "cli/command.h"
#include "config/flag_table.h"

namespace idleburn {

// All commands with their flags, as their help has them. Completions and manual pages are made from these, so they
// cannot differ from the help. The commands do nothing else (config/flag_table.h).
std::vector<CommandHelp> AllCommandHelp(const Environment& environment);

}  // namespace idleburn
