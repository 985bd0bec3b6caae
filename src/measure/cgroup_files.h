#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/kept_file.h"
#include "telemetry/host.h"

namespace idleburn {

// The folder of a process's control group, for one controller. In version 1 each controller has its own mount, in
// version 2 all share one. Hybrid machines have both, so each controller is searched separately.
//
// Example: the line "0::/user.slice/job" of /proc/PID/cgroup and a version 2 mount at /sys/fs/cgroup give the folder
// /sys/fs/cgroup/user.slice/job.
struct CgroupPlace {
  std::string folder;  // folder of the process's group; empty: not mounted or not visible
  std::string mount;   // the topmost visible folder
  bool version2 = false;
  bool part = false;  // only a part of the hierarchy is mounted, as in a container
};
// The places of all controllers that matter here.
struct CgroupPlaces {
  CgroupPlace cpu;
  CgroupPlace memory;
  CgroupPlace io;
  CgroupPlace pressure;  // version 2 only
};

// A limit of memory from here on, in bytes, is none: version 1 writes "no limit" as the largest multiple of a page.
inline constexpr std::int64_t kNoMemoryLimit = std::int64_t{1} << 60;

// Finds the places from the texts of /proc/self/mountinfo and /proc/PID/cgroup. Folders are absolute paths of a real
// machine; CgroupFiles puts its `root` before them.
CgroupPlaces FindCgroups(std::string_view mountinfo, std::string_view membership);

// The limits and the use of a workload's control group. The group may contain other processes too. It is the smallest
// set around the workload that the kernel keeps counts for. HostLane uses it for what single processes do not show:
// quotas, throttling, pressure, and the memory limit.
class CgroupFiles {
 public:
  // Finds the group of process `pid`. `root` is the path before every file; empty on a real machine. `files` must
  // outlive the object.
  CgroupFiles(const std::string& root, pid_t pid, OpenFileBudget* files);

  // The CPU quota, in CPUs: 1.5 allows 1.5 s of CPU time per second. It is the least of the group and its parents.
  // Absent without one. From then on ReadSlow reads the throttled time of the group that has it.
  std::optional<double> Quota();
  // The quota rounded up to whole CPUs.
  std::optional<std::int64_t> QuotaCpus();
  // Reads pressure into *sample.
  void ReadPressure(HostSample* sample);
  // Reads throttled time, used memory and its limit into *sample. Memory is absent unless the workload has a group of
  // its own. A group without a limit is limited by `machine_memory`.
  void ReadSlow(std::optional<std::int64_t> machine_memory, HostSample* sample);
  // Reads into *sample how many bytes the group read from and wrote to storage. False if that is not known, or if the
  // group is the whole machine's.
  bool ReadIo(HostSample* sample);

 private:
  struct Pressure {
    KeptFile file;
    HostSignal some;
    std::optional<HostSignal> full;
  };
  // The group's folder and those of its visible parents.
  [[nodiscard]] std::vector<std::string> Upwards(const CgroupPlace& place) const;
  // The number in a file. Absent for "max" and for a file that cannot be read.
  std::optional<std::int64_t> ValueAt(const std::string& file);
  std::optional<double> QuotaAt(const std::string& folder, bool version2);
  // Whether the group is not the whole machine's. In a container the mount shows only the container's group. The
  // `limit` file tells then: the kernel gives it to every group but the machine's.
  [[nodiscard]] bool IsOwn(const CgroupPlace& place, const char* limit) const;
  void ReadMemory(std::optional<std::int64_t> machine_memory, HostSample* sample);

  std::string root_;
  CgroupPlaces places_;
  std::vector<Pressure> pressure_;
  std::string throttled_file_;
  std::string buffer_;
};

}  // namespace idleburn
