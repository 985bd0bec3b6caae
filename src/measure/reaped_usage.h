#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <mutex>

namespace idleburn {

// What processes used that ended and were waited for, themselves and those they had waited for: sums.
struct UsedByProcesses {
  std::int64_t cpu_ns = 0;
  std::int64_t major_faults = 0;
  std::int64_t read_bytes = 0;   // from storage
  std::int64_t write_bytes = 0;  // to storage
};

// Carries those sums from the thread that waits for processes to the one that samples. The kernel forgets a process
// once it is waited for, so what it used after the last look at /proc is known only here.
class ReapedUsage {
 public:
  void Add(const rusage& used) {
    const std::scoped_lock lock(mutex_);
    total_.cpu_ns += Nanoseconds(used.ru_utime) + Nanoseconds(used.ru_stime);
    total_.major_faults += used.ru_majflt;
    total_.read_bytes += std::int64_t{used.ru_inblock} * kBlock;
    total_.write_bytes += std::int64_t{used.ru_oublock} * kBlock;
  }
  [[nodiscard]] UsedByProcesses total() const {
    const std::scoped_lock lock(mutex_);
    return total_;
  }

 private:
  static constexpr std::int64_t kBlock = 512;  // the unit of ru_inblock and ru_oublock on Linux
  static std::int64_t Nanoseconds(const timeval& t) {
    return std::int64_t{t.tv_sec} * 1'000'000'000 + std::int64_t{t.tv_usec} * 1000;
  }

  mutable std::mutex mutex_;
  UsedByProcesses total_;
};

}  // namespace idleburn
