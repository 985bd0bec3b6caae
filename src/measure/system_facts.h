#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/live_sink.h"

namespace idleburn {

// A file system as it is mounted.
struct MountedAt {
  std::string point;
  std::string type;    // "ext4", "nfs4", "overlay"
  std::string source;  // "/dev/nvme0n1p1"
};
// Of /proc/PID/mountinfo: those that can hold data; kernel interfaces are left out.
std::vector<MountedAt> MountsOf(std::string_view mountinfo);
// The one that a path lies on, in words: "/data ext4 (nvme0n1p1)"; empty if it is on none of them. No name of a user or
// of another host is in it.
std::string MountOf(const std::vector<MountedAt>& mounts, std::string_view path);

// The file systems of the files that these processes hold open for reading, as MountOf writes them, in order. Of a few
// processes and files. `proc`: "/proc".
std::string MountsRead(const std::string& proc, std::span<const pid_t> pids);

// What this machine is, as facts "system.*": kernel, CPU, NUMA nodes, memory, disks, container, limits of the control
// group, and the file system of `cwd`. What cannot be read is left out. `root` stands before /proc and /sys: empty on a
// real machine. No names of hosts or users.
std::vector<RunFact> SystemFacts(const std::string& root, const std::string& cwd);

// Whether anything there says that this is one.
bool IsContainer(const std::string& root);

}  // namespace idleburn
