#include "os/random_id.h"

#include <sys/random.h>

#include <string_view>

#include "base/check.h"

namespace idleburn {

std::string RandomId() {
  std::string id(16, '\0');
  CHECK(getrandom(id.data(), id.size(), 0) == static_cast<ssize_t>(id.size()));  // cannot fail for so few bytes
  return id;
}

std::string RandomIdText() {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const char c : RandomId()) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return text;
}

}  // namespace idleburn
