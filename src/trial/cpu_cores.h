#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace idleburn {

// A CPU as the scheduler numbers them, and the core it is a thread of.
struct CpuPlace {
  int cpu = 0;
  int package = 0;
  int core = 0;  // within the package
};

// The CPUs this thread may run on. `sys`: "/sys"; where that does not tell a CPU's core, it counts as one of its own.
std::vector<CpuPlace> AllowedCpus(const std::string& sys);

// How many of them can be busy at once, under a quota of that many CPUs' time.
double UsableCpus(const std::vector<CpuPlace>& allowed, std::optional<double> quota);

// Half of `usable` CPUs, rounded down, at least one: whole cores, since half of the threads of every core would be
// nearly all of the machine, and every second core, since half of the sockets would be half of the memory's bandwidth
// too.
std::vector<int> HalfOfCpus(std::vector<CpuPlace> allowed, double usable);

}  // namespace idleburn
