#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "measure/cgroup_files.h"
#include "measure/infiniband.h"
#include "measure/lane.h"
#include "measure/machine_signals.h"
#include "measure/process_tree.h"

namespace idleburn {

// The workload a HostLane looks at, besides the machine.
struct HostWorkload {
  pid_t pid = 0;                              // its first process
  pid_t adopter = 0;                          // parent of its orphans, with PR_SET_CHILD_SUBREAPER; 0: none
  std::vector<pid_t> not_ours;                // children of the adopter that do not belong to it
  std::string run_id;                         // see ProcessTreeSpec
  std::shared_ptr<const ReapedUsage> reaped;  // null: not known
};

struct HostLaneSpec {
  std::string root;  // stands before /proc, /sys and the places where cgroups are mounted: empty on a real machine
  std::optional<HostWorkload> workload;
};

// Reads the machine and the processes of a workload. Each tick reads pressure and some processes; once a second the
// files that cost more, the list of processes and the control group are read too. No tick looks at more than a fixed
// number of processes: with more, each is read less often.
class HostLane final : public Lane {
 public:
  explicit HostLane(HostLaneSpec spec);
  void Tick(Instant now, LiveSink& out) override;
  // Looks at everything once more, what is read once a second too: a short run may have been read only at its start.
  void Finish(Instant now, LiveSink& out) override {
    io_age_ = Nanos(0);
    next_slow_.reset();
    Tick(now, out);
  }

 private:
  void TickWorkload(Instant now, bool slow, LiveSink& out);
  void ReadCpus(HostSample* sample);
  void PutUse(HostSample* sample);
  void PutWorkers(HostSample* sample);
  void TellMounts(LiveSink& out);
  void NoteOnce(Instant now, const std::string& text, LiveSink& out);
  void NoteWhatLacks(const HostSample& machine, LiveSink& out);

  HostLaneSpec spec_;
  std::string proc_;
  std::int64_t page_size_;
  OpenFileBudget files_;
  MachineSignals machine_;
  InfinibandPorts infiniband_;
  std::optional<ProcessTree> tree_;
  std::optional<CgroupFiles> cgroup_;
  std::optional<Instant> next_slow_;
  std::optional<bool> bytes_by_group_;  // the control group tells what was read and written, as processes do not
  std::set<std::string> noted_;
  Nanos io_age_{kNanosPerSecond};  // see ProcessTree::Tick
  int scans_ = 0;                  // of the workload's processes
  std::string mounts_read_;
};

}  // namespace idleburn
