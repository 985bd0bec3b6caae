#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "telemetry/signal.h"

namespace idleburn {

// How long a quantity had which value: a histogram of time, in bounded memory. Values are counted in whole steps,
// rounded down. A bin is one step wide below 256 steps; above, each octave has 128 bins, so that a bin is at most
// 1/128 (0.8 %) of its value wide. Times are integers, so spreads merge exactly.
class ValueSpread {
 public:
  // `steps` >= 0.
  void Add(std::int64_t steps, std::int64_t ns) {
    const std::size_t bin = BinOf(steps);
    if (bin - first_ >= ns_.size()) Reach(bin);  // also of a bin below the first, as the difference wraps round
    ns_[bin - first_] += ns;
  }
  void Merge(const ValueSpread& o);
  [[nodiscard]] std::int64_t TotalNs() const;
  // The lower edge, in steps, of the bin in which the time at or below first reaches `percent` of all; absent when
  // empty. So it is the percentile itself below 256 steps, and up to 0.8 % less above.
  [[nodiscard]] std::optional<std::int64_t> Percentile(std::int64_t percent) const;
  // Time in bins that lie at `steps` or above as a whole.
  [[nodiscard]] std::int64_t AtLeast(std::int64_t steps) const;
  friend bool operator==(const ValueSpread&, const ValueSpread&) = default;

 private:
  static constexpr std::int64_t kExact = 256;
  static constexpr std::size_t kBinsOfOctave = 128;
  static std::size_t BinOf(std::int64_t steps) {
    const auto value = static_cast<std::uint64_t>(steps);
    const auto octave = static_cast<std::size_t>(std::bit_width(value | kBinsOfOctave)) - 8;  // 0 of exact bins
    return kBinsOfOctave * octave + static_cast<std::size_t>(value >> octave);
  }
  static std::int64_t LowerEdge(std::size_t bin);
  void Reach(std::size_t bin);

  std::size_t first_ = 0;         // the bin of the first entry
  std::vector<std::int64_t> ns_;  // from the lowest bin seen to the highest
};

// The step of a spread, by unit: an eighth of a percent, a watt or a degree, so that whole ones are exact.
constexpr std::int64_t SpreadStep(Unit unit) {
  switch (unit) {
    case Unit::kMicroPercent:
      return kPercent / 8;
    case Unit::kMilliwatt:
    case Unit::kMillicelsius:
      return 125;
    case Unit::kKilohertz:
      return 1000;
    case Unit::kByte:
      return std::int64_t{1} << 20;
    case Unit::kBytePerSecond:
      return 100'000;
    case Unit::kMillijoule:
    case Unit::kMask:
    case Unit::kCount:
      break;
  }
  return 1;
}

}  // namespace idleburn
