#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace idleburn {

// Why a GPU's clocks are lower than they could be: NVML's bits, of which one's number is its index here.
struct EventReason {
  std::string_view name;        // docs/json.md, event_reasons_gpu_hours
  std::string_view nvidia_smi;  // after "clocks_event_reasons." and their like
};
inline constexpr auto kEventReasonTable = std::to_array<EventReason>({
    {"gpu_idle", "gpu_idle"},
    {"applications_clocks_setting", "applications_clocks_setting"},
    {"sw_power_cap", "sw_power_cap"},
    {"hw_slowdown", "hw_slowdown"},
    {"sync_boost", "sync_boost"},
    {"sw_thermal_slowdown", "sw_thermal_slowdown"},
    {"hw_thermal_slowdown", "hw_thermal_slowdown"},
    {"hw_power_brake_slowdown", "hw_power_brake_slowdown"},
    {"display_clock_setting", "display_clocks_setting"},
});
inline constexpr std::size_t kEventReasonCount = kEventReasonTable.size();

}  // namespace idleburn
