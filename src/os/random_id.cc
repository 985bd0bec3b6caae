#include "os/random_id.h"

#include <sys/random.h>

#include "base/check.h"
#include "os/hex.h"

namespace idleburn {

std::string RandomId() {
  std::string id(16, '\0');
  CHECK(getrandom(id.data(), id.size(), 0) == static_cast<ssize_t>(id.size()));  // cannot fail for so few bytes
  return id;
}

std::string RandomIdText() { return HexText(RandomId()); }

}  // namespace idleburn
