#include "classify/held_readings.h"

#include <algorithm>
#include <bit>

#include "base/result.h"

namespace idleburn {

// Nothing was read in a gap of the counter. So no other signal is held there for longer than the counter.
std::int64_t HeldReadings::SideHold(std::size_t signal, bool observed, const Cadence& cadence) const {
  const std::int64_t hold = cadence.hold[signal];
  return valid_ && !observed ? std::min(hold, cadence.max_gap.count()) : hold;
}

// Time is cut where something changes: a reading ends, or a second does.
const Cell* HeldReadings::Advance(std::int64_t to, const LastReadings& last, const Cadence& cadence) {
  if (std::exchange(done_, false)) cell_.Clear();
  while (cursor_ < to) {
    const bool held = cursor_ < until_;
    const bool observed = valid_ && held;
    std::int64_t end = held ? std::min(to, until_) : to;
    std::uint32_t valid = 0;
    for (std::uint32_t bits = followed_; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(bits));
      const std::int64_t hold = SideHold(i, observed, cadence);
      if (!last.Holds(i, cursor_, hold)) continue;
      valid |= bits & ~(bits - 1);
      end = std::min(end, last[i].time + hold);
    }
    const Unobserved why = held ? why_ : Unobserved::kGap;
    const std::int64_t second = FloorSecond(cursor_);
    const std::int64_t second_end = (second + 1) * kNanosPerSecond;
    if (!begun_) cell_.second = second;
    if (end <= second_end || cursor_ != second * kNanosPerSecond) {
      const std::int64_t stop = std::min(end, second_end);
      AddPiece(stop - cursor_, valid, observed, why, last);
      cursor_ = stop;
      if (stop == second_end) return Done();
      continue;
    }
    // Nothing changes for several whole seconds, so one cell stands for all of them.
    CHECK(!begun_);
    AddPiece(kNanosPerSecond, valid, observed, why, last);
    cell_.count = (end - cursor_) / kNanosPerSecond;
    cursor_ += cell_.count * kNanosPerSecond;
    return Done();
  }
  return nullptr;
}

// `valid` are the signals that are held throughout.
void HeldReadings::AddPiece(std::int64_t ns, std::uint32_t valid, bool observed, Unobserved why,
                            const LastReadings& last) {
  begun_ = true;
  if (observed) {
    cell_.covered_ns += ns;
    cell_.area += value_ * ns;
  } else {
    cell_.unobserved_ns[static_cast<std::size_t>(why)] += ns;
  }
  for (std::uint32_t bits = valid & AveragedMask(); bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    cell_.side[kMeasuredSlot[i]].Add(ns, last[i].value);
    cell_.sides |= std::uint32_t{1} << kMeasuredSlot[i];
  }
  if ((valid & Bit(Signal::kEventReasons)) != 0) cell_.reasons.Add(last[Index(Signal::kEventReasons)].value, ns);
}

const Cell* HeldReadings::TakeOpen() { return begun_ ? Done() : nullptr; }

}  // namespace idleburn
