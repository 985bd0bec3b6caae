#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/audit_report.h"

namespace idleburn {

// One fact about the machine. The JSON document writes one key per item; text prints some of them in sentences. A
// recording stores them as facts (measure/system_facts.h). A new fact is a row of a table below.
struct SystemItem {
  // The key in JSON.
  std::string_view key;
  // The name of the fact in a recording.
  std::string_view fact;
  // Whether the value must be an integer.
  bool number = false;
};

inline constexpr auto kSystemItems = std::to_array<SystemItem>({
    {"driver", "driver"},
    {"cuda", "cuda"},
    {"nvml", "nvml"},
    {"gpu_topology", "gpu.topology"},
    {"kernel", "system.kernel"},
    {"cpu", "system.cpu"},
    {"cpu_sockets", "system.cpu_sockets", true},
    {"cpu_cores", "system.cpu_cores", true},
    {"cpu_threads", "system.cpu_threads", true},
    {"numa_nodes", "system.numa_nodes", true},
    {"memory_bytes", "system.memory_bytes", true},
    {"disks", "system.disks"},
    {"cwd_mount", "system.cwd_mount"},
    {"data_mounts", "system.data_mounts"},
    {"container", "system.container"},
    {"cgroup_cpus", "system.cgroup_cpus", true},
    {"cgroup_memory_bytes", "system.cgroup_memory_bytes", true},
});
// Facts of one GPU. The whole name of such a fact is "gpu.", the UUID, and this ending.
inline constexpr auto kGpuItems = std::to_array<SystemItem>({
    {"vbios", ".vbios"},
    {"pcie_generation", ".pcie_generation", true},
    {"pcie_width", ".pcie_width", true},
    {"pcie_most_generation", ".pcie_most_generation", true},
    {"pcie_most_width", ".pcie_most_width", true},
    {"nvlinks", ".nvlinks", true},
});

// The value of a fact. Absent if the inputs do not say it.
std::optional<std::string> SystemFact(const AuditReport& report, std::string_view fact);
std::optional<std::string> GpuFact(const AuditReport& report, DeviceId device, std::string_view end);

// The machine in a few lines for people. Unknown facts are left out. If nothing is known, a line says which commands
// record it.
std::vector<std::string> SystemLines(const AuditReport& report);

}  // namespace idleburn
