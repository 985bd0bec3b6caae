#include "cli/command_flags.h"

namespace idleburn {

std::vector<CommandHelp> AllCommandHelp(const Environment& environment) {
  std::vector<CommandHelp> all;
  for (const Command& command : Commands()) {
    const Result<int> asked = command.run({std::string(kListFlags)}, environment);
    CHECK(!asked);
    all.push_back({command.name, command.summary, ParseFlagTable(asked.error().message)});
  }
  return all;
}

}  // namespace idleburn
