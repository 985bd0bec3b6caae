#include "classify/partial.h"

#include <algorithm>
#include <utility>

namespace idleburn {

namespace {

// So far back a sample matters at the most.
std::int64_t Horizon(const Thresholds& thresholds, std::span<const CadencePiece> pieces) {
  std::int64_t longest = std::max(thresholds.side_hold, thresholds.stuck_after).count();
  for (const CadencePiece& piece : pieces) {
    const Cadence& c = piece.cadence;
    longest = std::max({longest, c.max_gap.count(), *std::max_element(c.hold.begin(), c.hold.end())});
  }
  return longest + (thresholds.stuck_after + thresholds.dim_after + thresholds.idle_power_after).count() +
         (2 * thresholds.spin_cells + 1) * kNanosPerSecond;
}

}  // namespace

DevicePartial::DevicePartial(const Thresholds& thresholds, std::vector<CadencePiece> pieces, std::int64_t max_sm_khz)
    : pieces_(std::move(pieces)),
      horizon_(Horizon(thresholds, pieces_)),
      live_(thresholds, pieces_.front().cadence, max_sm_khz) {}

// From here on the state of live_ no longer depends on what came before this stretch.
void DevicePartial::Detach() {
  live_.CutRuns();
  head_live_ = live_;
  live_.DropTotals();
  detached_ = true;
}

void DevicePartial::Feed(const Sample& sample) {
  if (head_.empty() && !detached_) {
    const std::int64_t earliest = sample.time.nanos() + horizon_;
    detach_at_ = earliest - earliest % TickCounter::kAnchor + TickCounter::kAnchor;
  }
  // By the row before: until this one is fed what that one holds is still open, however long ago it was. Rows of one
  // stamp belong together.
  if (!detached_ && last_.nanos() >= detach_at_ && sample.time > last_) Detach();
  for (; piece_ + 1 < pieces_.size() && sample.time >= pieces_[piece_ + 1].from; ++piece_) {
    Adopt(pieces_[piece_ + 1], live_);
  }
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
  piece_ = next.piece_;
  last_ = std::max(last_, next.last_);
  return {};
}

DeviceClassifier DevicePartial::Finish() && {
  if (detached_) live_.Join(*std::move(head_live_));
  live_.Close();
  return std::move(live_);
}

}  // namespace idleburn
