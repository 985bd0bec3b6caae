#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/live_sink.h"

namespace idleburn {

// Describes the machine: hardware, limits, and the file systems that hold data. The facts go into the recording, so a
// reader of a report knows on what it was measured.

// A mounted file system, as /proc/PID/mountinfo names it.
struct MountedAt {
  std::string point;
  std::string type;    // "ext4", "nfs4", "overlay"
  std::string source;  // "/dev/nvme0n1p1"
};
// The file systems in /proc/PID/mountinfo that can hold data, without kernel interfaces.
std::vector<MountedAt> MountsOf(std::string_view mountinfo);
// Describes the file system of a path: "/data ext4 (nvme0n1p1)", "/mnt/set nfs4 (over the network)". Empty if there
// is none. The text has no names of users or other hosts, because recordings are handed on.
std::string MountOf(const std::vector<MountedAt>& mounts, std::string_view path);

// The file systems of files that these processes have open for reading, as MountOf writes them, sorted. That tells
// where a job's data lie without knowing its flags. It looks at a limited number of processes and files. `proc` is
// "/proc".
std::string MountsRead(const std::string& proc, std::span<const pid_t> pids);

// Describes this machine as facts "system.*": kernel, CPU, NUMA nodes, memory, disks, container, limits of the control
// group, and the file system of `cwd`. Facts that cannot be read are left out, and none names a host or user. `root` is
// the path before /proc and /sys; empty on a real machine.
std::vector<RunFact> SystemFacts(const std::string& root, const std::string& cwd);

// Whether this process runs in a container, as far as files below `root` tell. Some containers leave no such file.
bool IsContainer(const std::string& root);

}  // namespace idleburn
