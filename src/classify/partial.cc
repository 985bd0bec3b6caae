#include "classify/partial.h"

#include <algorithm>
#include <utility>

namespace idleburn {

DevicePartial::DevicePartial(const Thresholds& thresholds, const Cadence& cadence, std::int64_t max_sm_khz)
    : horizon_(std::max({cadence.max_gap.count(), thresholds.side_hold.count(), thresholds.stuck_after.count(),
                         *std::max_element(cadence.hold.begin(), cadence.hold.end())}) +
               (2 * thresholds.spin_cells + 1) * kNanosPerSecond),
      live_(thresholds, cadence, max_sm_khz) {}

// From here on the state of live_ no longer depends on what came before this stretch.
void DevicePartial::Detach() {
  head_live_ = live_;
  live_.DropTotals();
  detached_ = true;
}

void DevicePartial::Feed(const Sample& sample) {
  if (head_.empty() && !detached_) {
    const std::int64_t earliest = sample.time.nanos() + horizon_;
    detach_at_ = earliest - earliest % TickCounter::kAnchor + TickCounter::kAnchor;
  }
  // By the row before: until this one is fed what that one holds is still open, however long ago it was.
  if (!detached_ && last_.nanos() >= detach_at_) Detach();
  if (!detached_) head_.push_back(sample);
  last_ = std::max(last_, sample.time);
  live_.Feed(sample);
}

Result<void> DevicePartial::Append(const DevicePartial& next) {
  if (next.head_.empty()) return {};
  if (!head_.empty() && next.head_.front().time <= last_)
    return Fail("partial results overlap in time; merge them in order");
  if (live_.clock_shift() != 0)
    return Fail("a partial result whose wall clock went back cannot be followed by another");
  for (const Sample& sample : next.head_) Feed(sample);
  if (!next.detached_) return {};
  if (!detached_) Detach();
  live_.Join(std::exchange(live_, next.live_));
  last_ = std::max(last_, next.last_);
  return {};
}

DeviceClassifier DevicePartial::Finish() && {
  if (detached_) live_.Join(*std::move(head_live_));
  live_.Close();
  return std::move(live_);
}

}  // namespace idleburn
