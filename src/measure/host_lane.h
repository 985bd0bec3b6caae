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
#include "telemetry/host.h"

namespace idleburn {

// Reads the machine: its signals, its network ports, its clocks, and the processes of a workload.
// docs/host-signals.md lists every signal with its file.

// The traffic of all InfiniBand and RoCE ports. Files: port_rcv_data and port_xmit_data below
// /sys/class/infiniband/DEVICE/ports/PORT/counters. They count units of 4 bytes (Linux,
// Documentation/ABI/stable/sysfs-class-infiniband). It adds up the rise of each port, so a port that is reset or lost
// makes no jump. A 32-bit counter stops at 2^32 - 1; from then on the traffic is unknown.
class InfinibandPorts {
 public:
  // Finds the ports that exist now. `sys` is "/sys". A later port does not count.
  explicit InfinibandPorts(const std::string& sys);
  // Sets the traffic of all ports in *sample, as a sum since the first reading. Without a port it sets nothing.
  void Read(HostSample* sample);
  // Each port's traffic between the last two readings, in the order of device and port: mlx5_2 before mlx5_10.
  [[nodiscard]] const std::vector<PortTraffic>& ports() const { return ports_; }

 private:
  struct Counter {
    KeptFile file;
    std::optional<std::int64_t> last;
    bool stopped = false;  // it has 32 bits and is full
  };
  struct Direction {
    std::vector<Counter> counters;  // by port
    std::int64_t bytes = 0;
    // The bytes so far, from the rises of all counters since they were first read. Absent if no counter could be
    // read, or if one has stopped. Sets the rise of each port in `traffic` of *ports.
    std::optional<std::int64_t> Read(std::string& buffer, std::optional<std::int64_t> PortTraffic::*traffic,
                                     std::vector<PortTraffic>* ports);
  };
  Direction received_;
  Direction sent_;
  std::vector<PortTraffic> ports_;
  std::string buffer_;
};

// The signals of the whole machine, from a few files of /proc, which it keeps open. A file that cannot be read makes
// its signals unavailable.
class MachineSignals {
 public:
  // `proc` is "/proc"; a test has its own folder. `nanos_per_tick` is the length of a clock tick in /proc/stat.
  // `files` must outlive the object.
  MachineSignals(const std::string& proc, std::int64_t nanos_per_tick, OpenFileBudget* files);

  // Reads pressure: three small files, cheap enough for every tick.
  void ReadFast(HostSample* sample);
  // Reads CPU time, memory, faults, disks, network and processes. That costs twenty times as much.
  void ReadSlow(HostSample* sample);
  // Memory in bytes and CPUs online, as last read. They limit what a workload without limits of its own may use.
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

// The workload that a HostLane reads besides the machine. ProcessTreeSpec explains the members.
struct HostWorkload {
  pid_t pid = 0;                // its first process
  pid_t adopter = 0;            // the parent of its orphans (PR_SET_CHILD_SUBREAPER); 0: none
  std::vector<pid_t> not_ours;  // children of the adopter that do not belong to it
  std::string run_id;
  std::shared_ptr<const ReapedUsage> reaped;  // null: not known
};

// What a HostLane reads.
struct HostLaneSpec {
  std::string root;  // path before /proc, /sys and mounted cgroups; empty on a real machine
  std::optional<HostWorkload> workload;
};

// Reads the machine and the processes of a workload. Each tick reads pressure and some processes. Once a second a
// tick also reads the costlier files, the list of processes and the control group. A tick reads a limited number of
// processes, so each process of a large workload is read less often.
//
// `run` serves it on the host's thread, apart from the GPUs. So a driver that hangs does not stop the host's signals.
class HostLane final : public Lane {
 public:
  explicit HostLane(HostLaneSpec spec);
  void Tick(Instant now, LiveSink& out) override;
  // Reads everything once more, whatever its age. A short run may have been read only at its start, and a counter
  // that was read once says nothing.
  void Finish(Instant now, LiveSink& out) override {
    io_age_ = Nanos(0);
    next_slow_.reset();
    Tick(now, out);
  }

 private:
  void TickWorkload(Instant now, bool slow, LiveSink& out);
  void ReadCpus(HostSample* sample);
  // Puts what the workload's processes used, and how many there are.
  void PutUse(HostSample* sample);
  // Puts what its data loader workers did (WorkerSums).
  void PutWorkers(HostSample* sample);
  void TellMounts(LiveSink& out);
  // Notes a text the first time only. What cannot be read once usually cannot be read at every tick.
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
  std::optional<bool> bytes_by_group_;  // bytes come from the control group, because processes do not tell
  std::set<std::string> noted_;
  Nanos io_age_{kNanosPerSecond};  // see ProcessTree::Tick
  int scans_ = 0;                  // how often the processes were listed
  std::string mounts_read_;
};

// Notes that somebody set the wall clock or that the machine slept. Neither moves the time line of a run, which
// follows the monotonic clock. The note explains why the times of a report and of other logs differ from then on.
class ClockLane final : public Lane {
 public:
  explicit ClockLane(std::shared_ptr<RunClock> clock) : clock_(std::move(clock)) {}
  void Tick(Instant now, LiveSink& out) override;

 private:
  std::shared_ptr<RunClock> clock_;
  std::optional<ClockReading> last_;
};

}  // namespace idleburn
