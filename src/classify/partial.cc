#include "classify/partial.h"

#include <algorithm>
#include <utility>

namespace idleburn {

DevicePartial::DevicePartial(const Thresholds& thresholds, const Cadence& cadence, std::int64_t max_sm_khz)
    : horizon_(std::max({cadence.max_gap.count(), thresholds.side_hold.count(), thresholds.stuck_after.count(),
                         *std::max_element(cadence.hold.begin(), cadence.hold.end())}) +
               (thresholds.stuck_after + thresholds.dim_after + thresholds.idle_power_after).count() +
               (2 * thresholds.spin_cells + 1) * kNanosPerSecond),
      live_(thresholds, cadence, max_sm_khz) {}

// From here on the state of live_ no longer depends on what came before this stretch.
void DevicePartial::Detach() {
  live_.CutRuns();
  head_totals_ = live_.totals();
  first_ = live_.first();
  live_.DropTotals();
  detached_ = true;
}

void DevicePartial::Feed(const Sample& sample) {
  if (head_.empty() && !detached_) {
    const std::int64_t earliest = sample.time.nanos() + horizon_;
    detach_at_ = earliest - earliest % TickCounter::kAnchor + TickCounter::kAnchor;
  }
  if (!detached_ && sample.time.nanos() >= detach_at_) Detach();
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
  live_.CutRuns();
  const DeviceTotals before = live_.totals();
  const Instant first = live_.first();
  const DeviceClassifier earlier = std::exchange(live_, next.live_);
  live_.Follow(earlier);
  live_.MergeTotals(before);
  live_.set_first(first);
  last_ = std::max(last_, next.last_);
  return {};
}

DeviceClassifier DevicePartial::Finish() && {
  if (detached_) live_.MergeTotals(head_totals_);
  live_.Close();
  return std::move(live_);
}

}  // namespace idleburn
