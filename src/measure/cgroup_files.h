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

// Where the control group of a process keeps its files. A controller may be mounted by itself (version 1) or with
// all others (version 2); hybrid machines have both, so each is looked for on its own.
struct CgroupPlace {
  std::string folder;  // of the process's group; empty: not mounted, or out of sight
  std::string mount;   // the folder above which there is nothing to see
  bool version2 = false;
  bool part = false;  // only a part of the hierarchy is mounted: a container's
};
struct CgroupPlaces {
  CgroupPlace cpu;
  CgroupPlace memory;
  CgroupPlace io;
  CgroupPlace pressure;  // version 2 only
};

// From the texts of /proc/self/mountinfo and /proc/PID/cgroup. Folders are as mounted, without a prefix.
CgroupPlaces FindCgroups(std::string_view mountinfo, std::string_view membership);

// What the group of a workload may use, and uses. The group may hold other processes too: it is the tightest fence
// around the workload that the kernel keeps count for.
class CgroupFiles {
 public:
  // `root` stands before every path; empty on a real machine. `files` outlives it.
  CgroupFiles(const std::string& root, pid_t pid, OpenFileBudget* files);

  // CPUs' worth of time that the quota allows; absent without one.
  std::optional<double> Quota();
  // The same, rounded up.
  std::optional<std::int64_t> QuotaCpus();
  // Reads pressure into `sample`.
  void ReadPressure(HostSample* sample);
  // Reads throttled time, memory used and its limit where the group is one of its own (absent otherwise), into
  // `sample`. Without a limit `machine_memory` limits it.
  void ReadSlow(std::optional<std::int64_t> machine_memory, HostSample* sample);
  // Bytes that the group read from and wrote to storage.
  bool ReadIo(HostSample* sample);

 private:
  struct Pressure {
    KeptFile file;
    HostSignal some;
    std::optional<HostSignal> full;
  };
  [[nodiscard]] std::vector<std::string> Upwards(const CgroupPlace& place) const;
  std::optional<std::int64_t> ValueAt(const std::string& file);
  std::optional<double> QuotaAt(const std::string& folder, bool version2);
  // Whether the group is one of its own, and not all of the machine. At the mount of a container it is; there it shows
  // by the `limit` file, which the kernel gives every group but the machine's.
  [[nodiscard]] bool IsOwn(const CgroupPlace& place, const char* limit) const;
  void ReadMemory(std::optional<std::int64_t> machine_memory, HostSample* sample);

  std::string root_;
  CgroupPlaces places_;
  std::vector<Pressure> pressure_;
  std::string throttled_file_;
  std::string buffer_;
};

}  // namespace idleburn
