// In which seconds the host of a node was under pressure: tasks waited for CPUs or for storage (PSI).

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "telemetry/host.h"

namespace idleburn {

// Whether a host was under pressure in a second, by the limits of an audit (classify/cause_limits.h).
struct PressedSecond {
  bool cpu = false;  // kMuchCpuWait or more, and no core to spare
  bool io = false;   // all tasks waited for storage for kIoFull or more
};

// Follows the machine's counters of pressure. Seconds without readings are never under pressure.
class HostPressure {
 public:
  // Takes a sample of the machine. `utc_ns` is its stamp in UTC; a sample that is not newer than the last is dropped.
  void Feed(const HostSample& sample, std::int64_t utc_ns);
  // What is known of a UTC second. It forgets the seconds before it, so seconds only go forward.
  PressedSecond Take(std::int64_t second);

  [[nodiscard]] bool reads_cpu() const { return last_cpu_.has_value(); }
  [[nodiscard]] bool reads_io() const { return last_io_.has_value(); }

 private:
  // Nanoseconds of pressure within a second.
  struct Second {
    std::int64_t second = 0;
    std::int64_t cpu_some_ns = 0;
    std::int64_t io_full_ns = 0;
    bool no_core = false;  // no core was idle, or idle cores were not read
  };
  Second& At(std::int64_t second);
  void Spread(std::int64_t rise_ns, std::int64_t from_ns, std::int64_t to_ns, std::int64_t Second::*into);

  std::deque<Second> seconds_;  // in order
  std::int64_t forgotten_ = INT64_MIN;
  std::optional<std::int64_t> last_ns_;
  std::optional<std::int64_t> last_cpu_;
  std::optional<std::int64_t> last_io_;
  // The CPU time and when it was read.
  std::optional<std::array<std::int64_t, 2>> busy_;
  std::optional<double> free_cores_;
};

}  // namespace idleburn
