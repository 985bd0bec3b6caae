#include "telemetry/coverage.h"

#include <algorithm>

namespace idleburn {

void Coverage::Add(Pause pause) {
  if (pauses_.size() == kMostPauses) {
    if (pause.Length() <= pauses_.front().Length()) return;
    std::pop_heap(pauses_.begin(), pauses_.end(), Longer);
    pauses_.pop_back();
  }
  pauses_.push_back(pause);
  std::push_heap(pauses_.begin(), pauses_.end(), Longer);
}

void Coverage::See(Instant at) {
  constexpr std::int64_t kFar = INT64_MAX / 2;  // from 1970: centuries, whose distances still fit
  const std::int64_t time = std::clamp(at.nanos(), -kFar, kFar);
  if (readings_ == 0) {
    first_ = last_ = time;
  } else if (time > last_) {
    Add({last_, time});
    last_ = time;
  } else if (time < first_) {
    Add({time, first_});
    first_ = time;
  } else {  // within: no pause has a reading in it
    const auto around = std::find_if(pauses_.begin(), pauses_.end(),
                                     [&](const Pause& p) { return p.from < time && time < p.to; });
    if (around == pauses_.end()) return;
    const Pause cut = *around;
    pauses_.erase(around);
    std::make_heap(pauses_.begin(), pauses_.end(), Longer);
    Add({cut.from, time});
    Add({time, cut.to});
    return;
  }
  ++readings_;
}

void Coverage::Settle() {
  const std::int64_t mean = readings_ < 2 ? 0 : (last_ - first_) / (readings_ - 1);
  const auto is_none = [&](const Pause& pause) { return pause.Length() / kPauseSteps <= mean; };
  pauses_.erase(std::remove_if(pauses_.begin(), pauses_.end(), is_none), pauses_.end());
  pauses_.shrink_to_fit();
}

Nanos Coverage::Step() const {
  const auto steps = readings_ - 1 - static_cast<std::int64_t>(pauses_.size());
  if (steps <= 0) return Nanos(0);
  std::int64_t covered = last_ - first_;
  for (const Pause& pause : pauses_) covered -= pause.Length();
  return Nanos(covered / steps);
}

Nanos Coverage::Overlap(const Coverage& a, const Coverage& b) {
  if (a.readings_ == 0 || b.readings_ == 0) return Nanos(0);
  std::int64_t from = std::max(a.first_, b.first_);
  const std::int64_t to = std::min(a.last_, b.last_);
  std::vector<Pause> pauses = a.pauses_;
  pauses.insert(pauses.end(), b.pauses_.begin(), b.pauses_.end());
  std::sort(pauses.begin(), pauses.end(), [](const Pause& x, const Pause& y) { return x.from < y.from; });
  std::int64_t covered = 0;
  for (const Pause& pause : pauses) {
    if (pause.from >= to) break;
    covered += std::max<std::int64_t>(0, pause.from - from);
    from = std::max(from, pause.to);
  }
  return Nanos(covered + std::max<std::int64_t>(0, to - from));
}

}  // namespace idleburn
