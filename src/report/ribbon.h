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

// What most of a stretch of a device's time was, as a picture shows it. Looks are ordered from unused to busy. The same
// looks are drawn in the terminal and in the HTML report, so a reader learns them once.
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

// How a look is drawn. Every look can be told from the others without colour.
struct LookInfo {
  std::string_view id;     // also the class of its colour in web/report.css
  std::string_view block;  // in a terminal: the taller, the busier
  int color;               // one of 256, safe for colour-blind readers; used only with colour
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

// What a look means in one audit. A picture shows idle time without a holder and idle time of unknown holder alike. It
// also shows unobserved time and time between runs alike. If both occur, the legend says so.
std::string_view MeaningOf(Look look, const CostReport& cost);

// One column of a ribbon.
struct RibbonColumn {
  Look look = Look::kUnobserved;
  bool throttled = false;  // clocks were held back for at least half of the observed time
  friend bool operator==(const RibbonColumn&, const RibbonColumn&) = default;
};

// The timeline of a device from `from` to `to` in `columns` equal columns, each with what most of its time was. A
// column is unobserved if less than half of it was observed. A column is spin-wait if the mean power (or SM activity)
// of its busy time is below the limit of the spin verdict.
std::vector<RibbonColumn> RibbonOf(const DeviceResult& device, const Thresholds& thresholds, Instant from, Instant to,
                                   int columns);

}  // namespace idleburn
