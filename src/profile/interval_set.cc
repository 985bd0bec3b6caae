#include "profile/interval_set.h"

#include <algorithm>
#include <utility>

namespace idleburn {
namespace {

bool StartsBefore(const Interval& a, const Interval& b) { return a.start < b.start; }

// Joins what overlaps or touches, of intervals by start.
void Join(std::vector<Interval>& intervals) {
  std::size_t kept = 0;
  for (const Interval& i : intervals) {
    if (kept > 0 && i.start <= intervals[kept - 1].end) {
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, i.end);
    } else {
      intervals[kept++] = i;
    }
  }
  intervals.resize(kept);
}

}  // namespace

IntervalSet IntervalSet::UnionOf(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end <= i.start; });
  std::sort(intervals.begin(), intervals.end(), StartsBefore);
  Join(intervals);
  IntervalSet set;
  set.parts_ = std::move(intervals);
  return set;
}

std::int64_t IntervalSet::TotalNs() const {
  std::int64_t total = 0;
  for (const Interval& i : parts_) total += i.Ns();
  return total;
}

std::int64_t IntervalSet::OverlapNs(Interval within) const {
  std::int64_t total = 0;
  auto at =
      std::partition_point(parts_.begin(), parts_.end(), [&](const Interval& i) { return i.end <= within.start; });
  for (; at != parts_.end() && at->start < within.end; ++at) {
    total += std::min(at->end, within.end) - std::max(at->start, within.start);
  }
  return total;
}

IntervalSet Union(const IntervalSet& a, const IntervalSet& b) {
  std::vector<Interval> both;
  both.reserve(a.parts_.size() + b.parts_.size());
  std::merge(a.parts_.begin(), a.parts_.end(), b.parts_.begin(), b.parts_.end(), std::back_inserter(both),
             [](const Interval& x, const Interval& y) { return x.start < y.start; });
  return IntervalSet::UnionOf(std::move(both));
}

IntervalSet Intersection(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet result;
  auto at = b.parts_.begin();
  for (const Interval& i : a.parts_) {
    while (at != b.parts_.end() && at->end <= i.start) ++at;
    for (auto other = at; other != b.parts_.end() && other->start < i.end; ++other) {
      result.parts_.push_back({std::max(i.start, other->start), std::min(i.end, other->end)});
    }
  }
  return result;
}

IntervalSet Difference(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet result;
  auto at = b.parts_.begin();
  for (const Interval& i : a.parts_) {
    while (at != b.parts_.end() && at->end <= i.start) ++at;
    std::int64_t from = i.start;
    for (auto other = at; other != b.parts_.end() && other->start < i.end; ++other) {
      if (other->start > from) result.parts_.push_back({from, other->start});
      from = other->end;
    }
    if (from < i.end) result.parts_.push_back({from, i.end});
  }
  return result;
}

IntervalSet Clip(const IntervalSet& a, Interval within) {
  IntervalSet window;
  if (within.end > within.start) window.parts_.push_back(within);
  return Intersection(a, window);
}

void IntervalUnion::Add(Interval interval) {
  if (interval.end <= interval.start) return;
  // Most ranges of a thread nest in, or follow, the one before.
  if (!parts_.empty() && interval.start >= parts_.back().start && interval.start <= parts_.back().end) {
    parts_.back().end = std::max(parts_.back().end, interval.end);
    return;
  }
  // Room that is not used takes no memory, moving all of them to a new place does.
  if (parts_.size() == parts_.capacity()) parts_.reserve(std::max(kSmallest, 4 * parts_.size()));
  parts_.push_back(interval);
  if (parts_.size() >= compact_at_) Compact();
}

// Sorts only what is new: the rest is a union.
void IntervalUnion::Compact() {
  const auto news = parts_.begin() + static_cast<std::ptrdiff_t>(united_);
  std::sort(news, parts_.end(), StartsBefore);
  const auto from = news == parts_.end() ? news : std::upper_bound(parts_.begin(), news, *news, StartsBefore);
  std::inplace_merge(from, news, parts_.end(), StartsBefore);
  Join(parts_);
  united_ = parts_.size();
  compact_at_ = united_ + std::max(kSmallest, united_ / 4);
}

IntervalSet IntervalUnion::Take() {
  Compact();
  IntervalSet set;
  set.parts_ = std::exchange(parts_, {});
  united_ = 0;
  compact_at_ = kSmallest;
  return set;
}

}  // namespace idleburn
