// Any text is a document of a drill or is refused.
#include <cstddef>
#include <cstdint>
#include <string>

#include "plan/spot_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(idleburn::ParseDrillDocument(text, "drill.json"));
  return 0;
}
