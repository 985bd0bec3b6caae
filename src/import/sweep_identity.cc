#include "import/sweep_identity.h"

#include <algorithm>

namespace idleburn {
namespace {

// Whether rows this far apart between longer pauses are of the GPUs of a sweep, rather than one GPU's whose log
// pauses now and then. nvidia-smi takes a few milliseconds for each GPU; where it takes longer, every sweep must have
// the same rows (`sweeps`, sorted, are those of the whole ones), and half a second is no part of a sweep.
bool AreSweeps(std::int64_t apart_ns, const std::vector<int>& sweeps) {
  constexpr std::int64_t kSurely = kNanosPerSecond / 20;
  constexpr std::int64_t kPerhaps = kNanosPerSecond / 2;
  if (apart_ns < kSurely) return true;
  return apart_ns < kPerhaps && sweeps.size() >= 3 && sweeps.front() == sweeps.back();
}

}  // namespace

SweepIdentity::SweepIdentity(const std::vector<Instant>& first) {
  std::vector<std::int64_t> intervals;
  for (std::size_t i = 1; i < first.size(); ++i) {
    // Stamps are rounded to milliseconds: rows of one sweep may be equal.
    intervals.push_back(std::max<std::int64_t>((first[i] - first[i - 1]).count(), kNanosPerSecond / 2000));
  }
  std::sort(intervals.begin(), intervals.end());
  // Sweeps are where sorted intervals jump by a factor of four or more; outages jump too, but they are few, so the
  // jump with a fair share of intervals on both sides is the one.
  for (std::size_t i = 1; i < intervals.size(); ++i) {
    const std::size_t longer = intervals.size() - i;
    if (intervals[i] >= 4 * intervals[i - 1] && i * 5 >= intervals.size() * 2 && longer * 40 >= intervals.size()) {
      split_ns_ = intervals[i] - intervals[i] / 2;
      break;
    }
  }
  if (split_ns_ == 0) return;
  int rows = 1;
  std::vector<int> sweeps;
  for (std::size_t i = 1; i < first.size(); ++i) {
    if ((first[i] - first[i - 1]).count() > split_ns_) {
      sweeps.push_back(rows);
      rows = 0;
    }
    ++rows;
  }
  std::sort(sweeps.begin(), sweeps.end());
  const auto longer = std::lower_bound(intervals.begin(), intervals.end(), split_ns_);
  if (!AreSweeps(intervals[static_cast<std::size_t>(longer - intervals.begin()) / 2], sweeps)) {
    split_ns_ = 0;
    return;
  }
  gpus_ = sweeps.empty() ? rows : sweeps[sweeps.size() / 2];
}

std::optional<int> SweepIdentity::Next(Instant time) {
  const bool starts = !last_ || split_ns_ == 0 || (time - *last_).count() > split_ns_ || time < *last_;
  last_ = time;
  if (starts && position_ != 0 && position_ != gpus_) return std::nullopt;
  if (starts) position_ = 0;
  if (position_ == gpus_) return std::nullopt;
  return position_++;
}

}  // namespace idleburn
