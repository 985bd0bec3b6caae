#include "classify/board_watch.h"

#include <algorithm>

namespace idleburn {

void BoardWatch::OnBoard(const Sample& sample) {
  const std::int64_t time = sample.time.nanos();
  // The limit that is set goes before the default one, once it was read.
  for (const Signal limit : {Signal::kPowerDefaultLimit, Signal::kPowerLimit}) {
    if (!sample.Has(limit) || (limit_read_ && limit == Signal::kPowerDefaultLimit)) continue;
    power_limit_mw_ = sample.Get(limit);
    limit_read_ = limit == Signal::kPowerLimit;
  }
  if (!sample.Has(Signal::kPower) && !sample.Lacks(Signal::kPower)) return;
  const bool works =
      sample.Has(Signal::kPower) && thresholds_->DrawsForWork(sample.Get(Signal::kPower), power_limit_mw_);
  if (works && !works_) works_since_ = time;
  works_ = works;
  power_time_ = time;
  Update(time);
}

void BoardWatch::OnInstance(const Sample& sample, int slices) {
  const bool says = sample.Has(Signal::kGrEngineActive) || sample.Lacks(Signal::kGrEngineActive);
  Instance& instance = instances_[sample.device];
  instance.slices = slices;
  if (!says) return;
  instance.zero = sample.Has(Signal::kGrEngineActive) && sample.Get(Signal::kGrEngineActive) == 0;
  Update(sample.time.nanos());
}

// Part of the board may belong to instances that are not read, and could draw its power. So those that are read must be
// most of it.
bool BoardWatch::AllZero() const {
  constexpr int kMostSlices = 7;  // of any board
  int slices = 0;
  for (const auto& [device, instance] : instances_) {
    if (!instance.zero) return false;
    slices += instance.slices;
  }
  return 2 * slices > kMostSlices;
}

// A reading of power before the last instance fell to 0 may be of that instance's work, so it decides nothing.
void BoardWatch::Update(std::int64_t time) {
  const bool zero = AllZero();
  if (zero && !zero_) zero_since_ = time;
  zero_ = zero;
  if (zero_ && works_ && power_time_ >= zero_since_) {
    if (!since_) since_ = std::max(zero_since_, works_since_);
  } else if (since_ && !(zero_ && works_)) {
    if (time - *since_ >= thresholds_->stuck_after.count()) stretches_.push_back({*since_, time});
    since_.reset();
  }
}

bool BoardWatch::WorksUnseen(std::int64_t from, std::int64_t to) const {
  const std::int64_t start = from * kNanosPerSecond;
  const std::int64_t end = to * kNanosPerSecond;
  if (since_ && *since_ < start + kNanosPerSecond) return true;
  // A second counts if any part of it lies in a stretch, as the readings are no finer.
  const auto after = std::upper_bound(stretches_.begin(), stretches_.end(), start + kNanosPerSecond - 1,
                                      [](std::int64_t time, const Stretch& s) { return time < s.from; });
  return after != stretches_.begin() && std::prev(after)->to > end - kNanosPerSecond;
}

}  // namespace idleburn
