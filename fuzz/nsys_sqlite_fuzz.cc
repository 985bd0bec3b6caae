// The input is a database. SQLite is not instrumented: this target watches how the importer takes what a damaged file
// yields. Larger inputs than its seeds only cost time.
#include "profile/profile_importers.h"
#include "profile_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  constexpr std::size_t kLargest = 65536;
  if (size > kLargest) return 0;
  return idleburn::FuzzProfile(idleburn::SniffNsys, idleburn::ReadNsys, data, size);
}
