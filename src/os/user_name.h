#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace idleburn {

// The login name of a user of this machine; absent if there is none of that id. May wait for a network where users are
// kept there.
std::optional<std::string> UserName(std::uint32_t id);

}  // namespace idleburn
