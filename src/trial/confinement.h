#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "measure/cgroup_files.h"

namespace idleburn {

// What one run of a command may use of the machine: certain CPUs, or the limit of a control group. Both take a resource
// away without touching the user's code, so that a slower run shows how much of the job waits for that resource.
//
// A CPU list is set by sched_setaffinity and needs no privilege. A control group needs a folder that we may write. To
// switch CPUs off would be simpler, but takes them from everybody on the machine.

// A CPU as the scheduler numbers it, and the core it is a thread of.
struct CpuPlace {
  int cpu = 0;
  int package = 0;
  // Cores are numbered anew within each package.
  int core = 0;
};

// Lists the CPUs this thread may run on, by sched_getaffinity. `sys` is "/sys", or the folder that stands for it in a
// test. Where the folder does not name the core of a CPU, that CPU counts as a core of its own. Empty if the kernel
// does not answer.
std::vector<CpuPlace> AllowedCpus(const std::string& sys);

// How many of the `allowed` CPUs can be busy at once. `quota` is CPU time a second, in CPUs; absent: no quota.
double UsableCpus(const std::vector<CpuPlace>& allowed, std::optional<double> quota);

// Chooses the CPUs of a run that has half of `usable`: rounded down, but at least one. They are whole cores, because
// half of the threads of every core would be nearly all of the machine. They are every second core, because half of the
// sockets would be half of the memory's bandwidth too. The answer is sorted.
std::vector<int> HalfOfCpus(std::vector<CpuPlace> allowed, double usable);

// The resource that a control group limits.
enum class Controller : std::uint8_t { kCpu, kIo };

// A control group of our own for one run, below or beside the group we are in, with one limit. The destructor removes
// it, and switches off again whatever had to be switched on for it.
//
//   version 1   a folder below our own group's
//   version 2   below our own group or its parent, where the controller is switched on for what lies below; else below
//               our own group if that was delegated to us and holds us alone: a group with a controller switched on
//               may hold no process, so we move into a group beside it for as long
class ControlGroup {
 public:
  // Makes the group. `place` says where the files of the controller are (CgroupPlaces::cpu or io). `ours` are the
  // processes that may be moved aside, this one among them. `root` stands before every path and is empty on a real
  // machine. Fails where no such group can be made, and says what would help.
  static Result<std::unique_ptr<ControlGroup>> Make(const CgroupPlace& place, Controller controller,
                                                    const std::vector<pid_t>& ours, const std::string& root = "");
  // The processes of the group must have ended before. What cannot be undone is left as it is.
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  // Limits CPU time to so many CPUs, at least 0.01.
  Result<void> LimitCpu(double cpus);
  // Limits reads from the disk of that device number to so many bytes a second. Reads from the page cache are free.
  Result<void> LimitReads(dev_t disk, std::int64_t bytes_per_second);

  // The file cgroup.procs, open for writing. A process that writes "0" to it moves into the group. We own it.
  [[nodiscard]] int procs() const { return procs_; }
  // The folder of the group, with `root` before it.
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  ControlGroup(std::string controller, bool version2) : controller_(std::move(controller)), version2_(version2) {}
  // Makes the folder in `parent` and opens its cgroup.procs. On failure nothing is left.
  Result<void> MakeIn(const std::string& parent);
  // Moves our processes out of `own` into a group beside it, and switches the controller on in `own`.
  Result<void> StepAside(const std::string& own, const std::vector<pid_t>& ours);
  // Writes one file of the group.
  Result<void> Set(const std::string& file, const std::string& value);

  std::string controller_;  // its name in version 2
  bool version2_;
  std::string folder_;
  int procs_ = -1;
  // Our own group, which we left for aside_. Empty: we are where we were.
  std::string left_;
  std::string aside_;
  std::vector<pid_t> moved_;
};

}  // namespace idleburn
