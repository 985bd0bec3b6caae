#pragma once

#include <optional>

namespace idleburn {

// What the host did during a run, as means over it: of the loader's workers (else of the job's processes) and of the
// machine. This tells apart why a loader is slow. Shares are fractions from 0 to 1. Absent is "not available" (PSI off,
// /proc/<pid>/io not readable), never 0.
struct HostEvidence {
  // Of a worker's time (/proc/<pid>/schedstat; state D of /proc/<pid>/stat).
  std::optional<double> worker_on_cpu;
  std::optional<double> run_queue_wait;
  std::optional<double> d_state;  // blocked, as a rule on storage
  // Of the time of the machine or of the job's control group (PSI).
  std::optional<double> psi_cpu_some;
  std::optional<double> psi_io_some;
  std::optional<double> psi_io_full;
  std::optional<double> psi_memory_full;
  std::optional<double> cpus_free;  // CPUs that stood idle, of those that the job may use
  // Of the job's processes (/proc/<pid>/io), bytes a second.
  std::optional<double> read_bytes_rate;   // from storage
  std::optional<double> read_chars_rate;   // by read calls, the page cache included
  std::optional<double> write_bytes_rate;  // to storage
  std::optional<double> cpu_throttled;     // share of time that the control group spent above its CPU quota
};

}  // namespace idleburn
