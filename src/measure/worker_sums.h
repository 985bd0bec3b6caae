#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "base/time.h"

namespace idleburn {

// A process of a workload as it was last read.
struct ProcessReading {
  pid_t pid = 0;
  pid_t parent = 0;
  std::size_t command = 0;  // tells command lines apart; 0: not known
  Instant at;
  std::int64_t cpu = 0;  // nanoseconds on a CPU, ready but waiting for one, and in state D: each only rises
  std::int64_t wait = 0;
  std::int64_t blocked = 0;
};

// What a workload's workers did, as sums that only rise. A worker is a process forked without starting another program,
// so that it has the command line of its parent, with no such process below it: what data loaders start, and what the
// program that drives the GPU, or a launcher of several, is not.
class WorkerSums {
 public:
  // Nanoseconds of all workers together.
  struct Times {
    std::int64_t alive = 0;
    std::int64_t cpu = 0;
    std::int64_t wait = 0;
    std::int64_t blocked = 0;
  };

  // All processes that there are now.
  void Update(std::span<const ProcessReading> processes);
  [[nodiscard]] const Times& times() const { return times_; }

 private:
  std::map<pid_t, ProcessReading> workers_;  // as of the last update
  Times times_;
};

}  // namespace idleburn
