#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace idleburn {

// When the process of that pid started, in clock ticks since boot: with the pid it names the process, as pids are
// given anew. Absent: none is seen, because it has ended, is hidden, or is of another pid namespace. `proc` is /proc.
std::optional<std::int64_t> StartTicksOf(const std::string& proc, std::int64_t pid);
// The same of one that runs: absent also where it has ended, and its parent has not asked how.
std::optional<std::int64_t> RunningSince(const std::string& proc, std::int64_t pid);

// Who a process is.
struct ProcessIdentity {
  std::string name;                   // the kernel's, 15 bytes at most
  std::optional<std::uint32_t> user;  // the id of who started it
  std::vector<std::string> command;   // its arguments; none of a kernel thread, nor of one that is ending
};
// Of the process with that pid that started then; absent if it is gone, whoever has its pid now. Not for the sampler's
// thread: the arguments lie in the process's own memory, and reading them waits for one that is stuck in a driver.
std::optional<ProcessIdentity> IdentityOf(const std::string& proc, std::int64_t pid, std::int64_t start_ticks);

}  // namespace idleburn
