#pragma once

#include <cstdint>
#include <string_view>

namespace idleburn {

// Whether a run fits a GPU (docs/plan.md, "Memory").
enum class MemoryFit : std::uint8_t { kFits, kTight, kNo };

inline constexpr double kDefaultMargin = 1.10;  // on the likely value, where no interval is known
inline constexpr double kUsableShare = 0.97;    // of the capacity, against the high end of an interval

// With an interval: it fits if its high end leaves 3 %, and is tight if only the likely value fits.
inline MemoryFit JudgeFit(double likely, double high, double capacity) {
  if (high <= kUsableShare * capacity) return MemoryFit::kFits;
  return likely <= capacity ? MemoryFit::kTight : MemoryFit::kNo;
}
// Without one, by the default margin.
inline bool FitsWithMargin(double likely, double capacity) { return kDefaultMargin * likely <= capacity; }

inline std::string_view Name(MemoryFit fit) {
  switch (fit) {
    case MemoryFit::kFits:
      return "fits";
    case MemoryFit::kTight:
      return "tight";
    case MemoryFit::kNo:
      return "no";
  }
  return "";
}

}  // namespace idleburn
