#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/kept_file.h"
#include "telemetry/host.h"

namespace idleburn {

// Bytes over all InfiniBand and RoCE ports of a machine, from /sys/class/infiniband/DEVICE/ports/PORT/counters:
// port_rcv_data and port_xmit_data, which count units of 4 bytes (Linux,
// Documentation/ABI/stable/sysfs-class-infiniband). What each port counted more since its last reading is added up, so
// that a port that is reset or lost makes no jump. A port of 32-bit counters stops at 2^32 - 1: from then on the
// traffic is not known.
class InfinibandPorts {
 public:
  // `sys`: "/sys". The ports there now; one that appears later is not counted.
  explicit InfinibandPorts(const std::string& sys);
  // Without a port nothing is set: there is no such traffic to know.
  void Read(HostSample* sample);

 private:
  struct Counter {
    KeptFile file;
    std::optional<std::int64_t> last;
  };
  struct Direction {
    std::vector<Counter> counters;
    std::int64_t bytes = 0;
    bool stopped = false;
    // Absent: none of them could be read.
    std::optional<std::int64_t> Read(std::string& buffer);
  };
  Direction received_;
  Direction sent_;
  std::string buffer_;
};

}  // namespace idleburn
