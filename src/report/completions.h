#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/flag_table.h"

namespace idleburn {

// The completions of a shell: bash, zsh or fish. Absent for another shell. They hold every word, so a Tab does not
// start the program. After `--` the words belong to the user's command.
std::optional<std::string> Completions(std::string_view shell, const std::vector<CommandHelp>& commands);

}  // namespace idleburn
