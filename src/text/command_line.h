#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace idleburn {

// A command as a shell would be given it, as far as a reader needs it. What looks like a secret in it is replaced by
// kRedacted (text/secrets.h): others read what is shown and kept.
std::string ShownCommand(std::span<const std::string> words);

// The words of a command line as a shell would cut it: at blanks outside of quotes and behind no backslash. Nothing
// else that a shell does is done. Fails for a quote that does not end, or without any word.
Result<std::vector<std::string>> SplitCommand(std::string_view text);

}  // namespace idleburn
