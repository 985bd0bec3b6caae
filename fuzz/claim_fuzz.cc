// Any text is a claim or is refused; a claim that is read is written so that it reads the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "verify/claim.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = idleburn::ParseClaim({reinterpret_cast<const char*>(data), size}, "claim.json");
  if (!read) return 0;
  const auto again = idleburn::ParseClaim(idleburn::ClaimText(read->claim), "claim.json");
  CHECK(again.has_value());
  CHECK(again->hashed == idleburn::HashedText(read->claim));
  return 0;
}
