#pragma once

#include <span>
#include <string>

namespace idleburn {

// A command as a shell would be given it, as far as a reader needs it. What looks like a secret in it is replaced by
// kRedacted (text/secrets.h): others read what is shown and kept.
std::string ShownCommand(std::span<const std::string> words);

}  // namespace idleburn
