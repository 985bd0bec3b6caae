#include "os/user_name.h"

#include <pwd.h>

#include <array>

namespace idleburn {

std::optional<std::string> UserName(std::uint32_t id) {
  std::array<char, 16384> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(id, &entry, room.data(), room.size(), &found) != 0 || found == nullptr) return std::nullopt;
  return std::string(found->pw_name);
}

}  // namespace idleburn
