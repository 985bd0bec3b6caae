#include "import/formats.h"
#include "import_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  return idleburn::FuzzImport(idleburn::SniffTelegraf, idleburn::ImportTelegraf, data, size);
}
