#include "import/formats.h"
#include "import_fuzz.h"

namespace {

// A log without times is read by the clock that the user says.
idleburn::Result<void> Import(idleburn::ByteSource& in, const idleburn::ImportOptions& /*options*/,
                              idleburn::ImportTarget& out) {
  idleburn::ImportOptions clock;
  clock.start = idleburn::Instant::FromNanos(0);
  clock.period = idleburn::Nanos(idleburn::kNanosPerSecond);
  return idleburn::ImportDcgmiDmon(in, clock, out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  return idleburn::FuzzImport(idleburn::SniffDcgmiDmon, Import, data, size);
}
