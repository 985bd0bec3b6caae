#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace idleburn {

// The processes that `root` has started, and those that they have, as /proc shows them now; those that have ended and
// only wait to be waited for are not among them.
std::vector<pid_t> DescendantsOf(pid_t root, const std::string& proc = "/proc");

}  // namespace idleburn
