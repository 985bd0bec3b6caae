#include "measure/held_samples.h"

#include <algorithm>

namespace idleburn {

void HeldSamples::Add(const Sample& sample) {
  if (sample.time <= released_) {
    ++too_late_;
    return;
  }
  auto place = held_.end();
  while (place != held_.begin() && std::prev(place)->time > sample.time) --place;
  if (place != held_.begin() && std::prev(place)->time == sample.time) {
    Sample& same = *std::prev(place);
    for (std::size_t i = 0; i < kSignalCount; ++i) {
      const auto signal = static_cast<Signal>(i);
      if (sample.Has(signal)) same.Set(signal, sample.Get(signal));
    }
    if (sample.unavailable != 0) same.reason = sample.reason;
    same.unavailable |= sample.unavailable;
    return;
  }
  held_.insert(place, sample);
}

void HeldSamples::Pass(const Sample& sample, Instant until, std::vector<Sample>& out) {
  if (held_.empty() && sample.time > released_ && sample.time <= until) {  // the usual way, without a copy
    released_ = sample.time;
    out.push_back(sample);
    return;
  }
  Add(sample);
  Release(until, out);
}

void HeldSamples::Release(Instant until, std::vector<Sample>& out) {
  const auto end = std::find_if(held_.begin(), held_.end(), [&](const Sample& s) { return s.time > until; });
  if (end == held_.begin()) return;
  released_ = std::prev(end)->time;
  out.insert(out.end(), held_.begin(), end);
  held_.erase(held_.begin(), end);
}

void HeldSamples::Forbid(Instant time) {
  released_ = std::max(released_, time);
  const auto end = std::find_if(held_.begin(), held_.end(), [&](const Sample& s) { return s.time > time; });
  too_late_ += end - held_.begin();
  held_.erase(held_.begin(), end);
}

}  // namespace idleburn
