#include "bill/open_ledger.h"

#include "os/input_file.h"

namespace idleburn {

Result<FleetLedger> OpenLedger(const std::string& path) {
  if (!SeekableFile::Open(path + "/index.sqlite")) {
    return Fail(path + ": no such ledger; idleburn fleet pull makes one");
  }
  return FleetLedger::Open(path, Nanos{5 * kNanosPerSecond});
}

}  // namespace idleburn
