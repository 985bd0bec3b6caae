#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "classify/thresholds.h"
#include "classify/totals.h"
#include "price/cost_report.h"

namespace idleburn {

// What a stretch of a device's time mostly was, as a picture shows it.
enum class Look : std::uint8_t {
  kUnobserved,
  kIdleEmpty,
  kIdleHeld,
  kUnderutilized,
  kProductive,
  kComputeBound,
  kSpinWait,
};
inline constexpr std::size_t kLookCount = 7;

struct LookInfo {
  std::string_view id;     // also the class of its colour in web/report.css
  std::string_view block;  // in a terminal, told apart without colour: the taller the busier
  int color;               // of 256, colour-blind safe, only where colour was asked for
  std::string_view meaning;
};
inline constexpr std::array<LookInfo, kLookCount> kLooks = {{
    {"unobserved", "·", 244, "unobserved: no valid reading"},
    {"idle", "▁", 214, "idle, no process holds the GPU"},
    {"held", "▒", 208, "idle while a process holds the GPU"},
    {"under", "▃", 117, "underutilized"},
    {"productive", "▅", 38, "productive"},
    {"bound", "█", 31, "compute_bound"},
    {"spin", "╳", 170, "spin-wait: resident without work"},
}};
constexpr const LookInfo& Info(Look look) { return kLooks[static_cast<std::size_t>(look)]; }

// What a look means in one audit: a picture does not part idle time of GPUs that nobody holds from that of which
// nobody read who holds them, nor unobserved time from that between runs.
std::string_view MeaningOf(Look look, const CostReport& cost);

// One column of a ribbon.
struct RibbonColumn {
  Look look = Look::kUnobserved;
  bool throttled = false;  // clocks were held back for at least half of its observed time
  friend bool operator==(const RibbonColumn&, const RibbonColumn&) = default;
};

// The device's timeline from `from` to `to` in `columns` equal columns, each with what most of its time was.
// Spin-wait shows where the mean power (or SM activity) of a column's busy time is below the verdict's limit.
std::vector<RibbonColumn> RibbonOf(const DeviceResult& device, const Thresholds& thresholds, Instant from, Instant to,
                                   int columns);

}  // namespace idleburn
