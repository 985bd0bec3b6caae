#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/money.h"
#include "fleet/fleet_report.h"

// Figures and names of a fleet as all its writers print them.
namespace idleburn {

// The phases for people, by index of kFleetPhaseNames.
inline constexpr std::array<std::string_view, kFleetPhaseCount> kFleetPhaseWords = {
    "idle", "underutilized", "productive", "compute-bound", "no data"};

// "41.2 %". Empty if the whole is unknown or zero.
std::string FleetShareText(std::int64_t part, std::optional<std::int64_t> whole);
// "16 GPUs, 2026-07-06T00:00:00Z to 2026-07-13T00:00:00Z".
std::string FleetTitle(const FleetReport& report);
// A team's or job's name, or what a bucket such as "_unallocated" is. Unescaped.
std::string FleetOwnerText(const std::string& name);

// Cells of CSV: milliseconds as exact seconds, "3600.250", and an exact amount, empty if it is unknown.
std::string ExactSeconds(std::int64_t ms);
std::string ExactOrEmpty(const std::optional<Money>& money);

}  // namespace idleburn
