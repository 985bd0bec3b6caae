#pragma once

#include <array>
#include <cstdint>

#include "classify/totals.h"

namespace idleburn {

// The extreme at which the last reading at one was.
enum TickExtreme : std::uint8_t { kNoExtreme, kLowExtreme, kHighExtreme };

// What a row does to the count of readings: which extreme is then the last, and what it adds, as parts of one number:
// one to the readings of its band, if it is one, and one to the alternations, if it is at the other extreme than the
// last.
struct TickStep {
  static constexpr std::size_t kBits = 12;                   // of a part
  static constexpr std::size_t kMost = (1 << kBits) - 1;     // that a part can count
  static constexpr std::size_t kAlternations = kPhaseCount;  // the part behind those of the bands

  std::uint64_t counts = 0;
  std::uint64_t extreme = kNoExtreme;

  static constexpr std::int64_t Part(std::uint64_t counts, std::size_t part) {
    return static_cast<std::int64_t>(counts >> kBits * part & kMost);
  }
};

// By the last extreme, by whether the row is a reading, and by its band.
using TickSteps = std::array<std::array<std::array<TickStep, kPhaseCount>, 2>, 3>;

constexpr TickSteps MakeTickSteps() {
  TickSteps steps{};
  for (const TickExtreme before : {kNoExtreme, kLowExtreme, kHighExtreme}) {
    for (std::size_t band = 0; band < kPhaseCount; ++band) {
      const TickExtreme now = band == 0 ? kLowExtreme : band + 1 == kPhaseCount ? kHighExtreme : kNoExtreme;
      const bool alternates = now != kNoExtreme && before != kNoExtreme && now != before;
      std::uint64_t counts = std::uint64_t{1} << TickStep::kBits * band;
      if (alternates) counts += std::uint64_t{1} << TickStep::kBits * TickStep::kAlternations;
      steps[before][0][band] = {0, before};
      steps[before][1][band] = {counts, now != kNoExtreme ? now : before};
    }
  }
  return steps;
}
inline constexpr TickSteps kTickSteps = MakeTickSteps();

}  // namespace idleburn
