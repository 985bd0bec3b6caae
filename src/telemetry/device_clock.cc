#include "telemetry/device_clock.h"

#include <algorithm>

namespace idleburn {
namespace {

constexpr std::size_t kGaps = 64;

}  // namespace

void DeviceClock::KeepGap(Gap gap) {
  if (gaps_.size() < kGaps) {
    gaps_.push_back(gap);
    return;
  }
  const auto length = [](const Gap& g) { return g.to - g.from; };
  const auto shortest =
      std::min_element(gaps_.begin(), gaps_.end(), [&](const Gap& a, const Gap& b) { return length(a) < length(b); });
  if (length(*shortest) < length(gap)) *shortest = gap;
}

DeviceClock::Row DeviceClock::Place(std::int64_t stamp, std::uint32_t signals, std::int64_t newest, std::int64_t hold,
                                    std::int64_t period) {
  const std::int64_t time = stamp + shift_;
  if (time > newest) {
    again_ = false;
    if (time - newest <= hold) return Row::kOn;
    const std::int64_t before = stamp + shift_before_.value_or(shift_);
    if (before > newest && before - newest <= hold) {
      shift_ = *shift_before_;
      shift_before_.reset();
      return Row::kStep;
    }
    KeepGap({newest, time});
    return Row::kOn;
  }
  again_ = again_ || (stamp == first_ && newest - time > hold && (signals & ~first_signals_) == 0);
  if (again_) return Row::kAgain;
  if (newest - time <= hold) return Row::kLate;
  // What comes anew with other signals is no copy, nor was a clock set back to the very first row.
  const bool in_gap =
      std::any_of(gaps_.begin(), gaps_.end(), [&](const Gap& gap) { return gap.from < time && time < gap.to; });
  if (in_gap || stamp == first_) return Row::kMisplaced;
  shift_before_ = shift_;
  shift_ = newest + std::max<std::int64_t>(period, 1) - stamp;
  return Row::kStep;
}

}  // namespace idleburn
