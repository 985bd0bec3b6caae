// The input is the whole file. Much of it goes to DuckDB, which is not instrumented: this target watches how the
// importer takes what a broken file yields. Our own reader has a faster target, parquet_reader_fuzz.
#include "import/formats.h"
#include "import_fuzz.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const idleburn::MemoryFile file(data, size);
  idleburn::DeviceTable devices;
  idleburn::DataQuality quality;
  idleburn::OwnerLedger owners;
  idleburn::CountingSink sink(devices);
  idleburn::ImportTarget target{devices, quality, owners, sink};
  idleburn::StringSource source("", file.path());
  const idleburn::Result<void> done = idleburn::ImportParquet(source, idleburn::ImportOptions{}, target);
  CHECK(done || done.error().message.find('\n') == std::string::npos);
  return 0;
}
