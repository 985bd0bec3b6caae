#pragma once

#include "cli/command.h"
#include "config/flag_table.h"

namespace idleburn {

// The flags of a command, as its help has them. Completions and manual pages are made from these, so they cannot
// differ from the help. The command does nothing else (config/flag_table.h).
FlagTable FlagsOf(const Command& command, const Environment& environment);

}  // namespace idleburn
