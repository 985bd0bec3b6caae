#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/cgroup_files.h"

namespace idleburn {

enum class Controller : std::uint8_t { kCpu, kIo };

// A control group of our own for one run, below or beside the group we are in, with one limit. It is gone when this
// is, and so is whatever had to be switched on for it.
//
//   version 1   a folder below our own group's
//   version 2   below our own group or its parent, where the controller is switched on for what lies below; else below
//               our own group if that was delegated to us and holds us alone: a group with a controller switched on
//               may hold no process, so we move into a group beside it for as long
class ControlGroup {
 public:
  // Where the controller's files are (CgroupPlaces::cpu or io). `ours`: processes that are ours, this one among them.
  // `root` stands before every path; empty on a real machine. Fails where no such group can be made, and says why.
  static Result<std::unique_ptr<ControlGroup>> Make(const CgroupPlace& place, Controller controller,
                                                    const std::vector<pid_t>& ours, const std::string& root = "");
  // After its processes have ended.
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  // CPUs' worth of time, at least 0.01.
  Result<void> LimitCpu(double cpus);
  // Reads from the disk of that number, in bytes a second.
  Result<void> LimitReads(dev_t disk, std::int64_t bytes_per_second);

  // cgroup.procs, open for writing: who writes "0" moves into it.
  [[nodiscard]] int procs() const { return procs_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  ControlGroup(Controller controller, bool version2) : controller_(controller), version2_(version2) {}
  Result<void> MakeIn(const std::string& parent);
  Result<void> StepAside(const std::string& own, const std::vector<pid_t>& ours);
  Result<void> Set(const std::string& file, const std::string& value);

  Controller controller_;
  bool version2_;
  std::string folder_;
  int procs_ = -1;
  std::string left_;  // our own group, which we left for `aside_`
  std::string aside_;
  std::vector<pid_t> moved_;
};

}  // namespace idleburn
