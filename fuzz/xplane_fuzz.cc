#include "profile/profile_importers.h"
#include "profile_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  return idleburn::FuzzProfile(idleburn::SniffXplane, idleburn::ReadXplane, data, size);
}
