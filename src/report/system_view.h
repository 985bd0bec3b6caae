#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/audit_report.h"

namespace idleburn {

// A fact about the machine: its key in JSON and the fact of a recording that tells it.
struct SystemItem {
  std::string_view key;
  std::string_view fact;
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
// Of one GPU: the fact is "gpu.UUID" and this.
inline constexpr auto kGpuItems = std::to_array<SystemItem>({
    {"vbios", ".vbios"},
    {"pcie_generation", ".pcie_generation", true},
    {"pcie_width", ".pcie_width", true},
    {"pcie_most_generation", ".pcie_most_generation", true},
    {"pcie_most_width", ".pcie_most_width", true},
    {"nvlinks", ".nvlinks", true},
});

// Absent where the inputs do not tell it.
std::optional<std::string> SystemFact(const AuditReport& report, std::string_view fact);
std::optional<std::string> GpuFact(const AuditReport& report, DeviceId device, std::string_view end);

// The machine in a few lines for people; what the inputs do not tell is left out, and said if that is all of it.
std::vector<std::string> SystemLines(const AuditReport& report);

}  // namespace idleburn
