#include <string>

#include "base/result.h"
#include "diagnose/memory_use.h"
#include "profile/memory_snapshot.h"

// Whatever the bytes: one line of an error, or figures that keep their promises.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto snapshot = idleburn::ReadMemorySnapshot(std::string(data, data + size));
  if (!snapshot) {
    CHECK(!snapshot.error().message.empty() && snapshot.error().message.find('\n') == std::string::npos);
    return 0;
  }
  for (const idleburn::GpuMemoryUse& use : idleburn::GpuMemoryUseOf(*snapshot)) {
    if (use.now) {
      CHECK(use.now->allocated + use.now->rounding + use.now->pending + use.now->Free() == use.now->reserved);
    }
    if (use.peak) CHECK(use.peak->allocated >= 0 && use.peak->reserved >= 0);
    if (use.peak && use.now) CHECK(use.peak->reserved >= use.now->reserved);
  }
  return 0;
}
