#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "telemetry/host_signal.h"

namespace idleburn {

// What a host, or a workload on it, did over the time it was watched.
struct HostUse {
  Instant first;
  Instant last;
  std::array<std::optional<std::int64_t>, kHostSignalCount> change{};  // of counters
  std::array<std::optional<std::int64_t>, kHostSignalCount> most{};    // of the others
  [[nodiscard]] Nanos watched() const { return last - first; }
};

}  // namespace idleburn
