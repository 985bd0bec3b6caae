// Any line is a marker or is not; what one says lies in its range.
#include <string_view>

#include "base/result.h"
#include "run/markers.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto marker = idleburn::ParseMarker(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!marker) return 0;
  CHECK(marker->rank >= 0);
  for (const auto& count : marker->done.of) CHECK(count.value_or(0) >= 0);
  return 0;
}
