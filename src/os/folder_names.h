#pragma once

#include <string>
#include <vector>

namespace idleburn {

// Names in a folder, in order; none if it cannot be listed.
std::vector<std::string> NamesIn(const std::string& folder);

}  // namespace idleburn
