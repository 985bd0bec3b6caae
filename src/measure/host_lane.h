#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "measure/cgroup_files.h"
#include "measure/lane.h"
#include "measure/process_tree.h"
#include "os/kept_file.h"
#include "os/run_clock.h"
#include "telemetry/host_signal.h"

namespace idleburn {

// Bytes over all InfiniBand and RoCE ports of a machine, from /sys/class/infiniband/DEVICE/ports/PORT/counters:
// port_rcv_data and port_xmit_data, which count units of 4 bytes (Linux,
// Documentation/ABI/stable/sysfs-class-infiniband). What each port counted more since its last reading is added up, so
// that a port that is reset or lost makes no jump. A port of 32-bit counters stops at 2^32 - 1: from then on the
// traffic is not known.
class InfinibandPorts {
 public:
  // `sys`: "/sys". The ports there now; one that appears later is not counted.
  explicit InfinibandPorts(const std::string& sys);
  // Without a port nothing is set: there is no such traffic to know.
  void Read(HostSample* sample);

 private:
  struct Counter {
    KeptFile file;
    std::optional<std::int64_t> last;
  };
  struct Direction {
    std::vector<Counter> counters;
    std::int64_t bytes = 0;
    bool stopped = false;
    // Absent: none of them could be read.
    std::optional<std::int64_t> Read(std::string& buffer);
  };
  Direction received_;
  Direction sent_;
  std::string buffer_;
};

// What the machine as a whole does, from a few files of /proc.
class MachineSignals {
 public:
  // `proc`: "/proc". `files` outlives it.
  MachineSignals(const std::string& proc, std::int64_t nanos_per_tick, OpenFileBudget* files);

  // Pressure: three small files, for every tick.
  void ReadFast(HostSample* sample);
  // The rest, which costs twenty times as much: CPU time, memory, faults, disks, network, processes.
  void ReadSlow(HostSample* sample);
  // As last read.
  [[nodiscard]] std::optional<std::int64_t> memory() const { return memory_; }
  [[nodiscard]] std::optional<std::int64_t> cpus() const { return cpus_; }

 private:
  std::optional<std::string_view> Text(KeptFile* file) { return file->Read(buffer_); }
  void ReadCpu(HostSample* sample);
  void ReadMemory(HostSample* sample);

  std::string proc_;
  std::int64_t nanos_per_tick_;
  KeptFile cpu_pressure_;
  KeptFile io_pressure_;
  KeptFile memory_pressure_;
  KeptFile stat_;
  KeptFile meminfo_;
  KeptFile vmstat_;
  KeptFile diskstats_;
  KeptFile net_dev_;
  KeptFile loadavg_;
  std::optional<std::int64_t> memory_;
  std::optional<std::int64_t> cpus_;
  std::string buffer_;
};

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

// Notes that somebody set the wall clock, or that the machine slept. Neither moves the time line of a run.
class ClockLane final : public Lane {
 public:
  explicit ClockLane(std::shared_ptr<RunClock> clock) : clock_(std::move(clock)) {}
  void Tick(Instant now, LiveSink& out) override;

 private:
  std::shared_ptr<RunClock> clock_;
  std::optional<ClockReading> last_;
};

}  // namespace idleburn
