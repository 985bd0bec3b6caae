#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/kept_file.h"
#include "telemetry/host.h"

namespace idleburn {

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

}  // namespace idleburn
