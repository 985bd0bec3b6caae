// Any bytes are a file of rocprofv3 or are not; where they are, every window reads the same profile, and it is sound.
#include "profile_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto read = [](idleburn::ByteSource& in, idleburn::DataQuality& quality, std::size_t window) {
    return idleburn::ReadRocprof(in, quality, {window, 4096});
  };
  return idleburn::FuzzWindows(idleburn::SniffRocprof, read, data, size);
}
