#include "cli/command_flags.h"

namespace idleburn {

FlagTable FlagsOf(const Command& command, const Environment& environment) {
  const Result<int> asked = command.run({std::string(kListFlags)}, environment);
  CHECK(!asked);
  return ParseFlagTable(asked.error().message);
}

}  // namespace idleburn
