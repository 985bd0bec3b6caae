#include "profile/interval_set.h"

#include <algorithm>
#include <utility>

// Sets of time ranges for traces with millions of events. A set operation walks over both sorted lists at once, in
// linear time. An interval tree was rejected: sets are built once and then read from start to end, and a sorted vector
// needs 16 bytes for each interval.

namespace idleburn {

namespace {

bool StartsBefore(const Interval& a, const Interval& b) { return a.start < b.start; }

// Joins overlapping and touching intervals in place. They must be sorted by start. Touching ones are joined too, so
// that equal sets have equal lists.
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

// Files mostly list events in order of time, so the check for that saves most sorts.
IntervalSet IntervalSet::UnionOf(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end <= i.start; });
  if (!std::is_sorted(intervals.begin(), intervals.end(), StartsBefore)) {
    std::sort(intervals.begin(), intervals.end(), StartsBefore);
  }
  Join(intervals);
  return IntervalSet(std::move(intervals));
}

std::int64_t IntervalSet::TotalNs() const {
  std::int64_t total = 0;
  for (const Interval& i : parts()) total += i.Ns();
  return total;
}

std::int64_t IntervalSet::OverlapNs(Interval within) const {
  std::int64_t total = 0;
  const std::span<const Interval> all = parts();
  auto at = std::partition_point(all.begin(), all.end(), [&](const Interval& i) { return i.end <= within.start; });
  for (; at != all.end() && at->start < within.end; ++at) {
    total += std::min(at->end, within.end) - std::max(at->start, within.start);
  }
  return total;
}

IntervalSet Union(const IntervalSet& a, const IntervalSet& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  std::vector<Interval> both;
  both.reserve(a.parts().size() + b.parts().size());
  std::merge(a.parts().begin(), a.parts().end(), b.parts().begin(), b.parts().end(), std::back_inserter(both),
             StartsBefore);
  Join(both);
  if (both.size() < both.capacity() / 2) both.shrink_to_fit();
  return IntervalSet(std::move(both));
}

// `at` only moves on. Inside, `other` looks ahead, because one part of `a` may meet several parts of `b`.
IntervalSet Intersection(const IntervalSet& a, const IntervalSet& b) {
  std::vector<Interval> result;
  const std::span<const Interval> others = b.parts();
  auto at = others.begin();
  for (const Interval& i : a.parts()) {
    while (at != others.end() && at->end <= i.start) ++at;
    for (auto other = at; other != others.end() && other->start < i.end; ++other) {
      result.push_back({std::max(i.start, other->start), std::min(i.end, other->end)});
    }
  }
  return IntervalSet(std::move(result));
}

// Cuts every part of `b` out of each part of `a`. `at` only moves on, because both are sorted.
IntervalSet Difference(const IntervalSet& a, const IntervalSet& b) {
  if (a.empty() || b.empty()) return a;
  std::vector<Interval> result;
  const std::span<const Interval> others = b.parts();
  auto at = others.begin();
  for (const Interval& i : a.parts()) {
    while (at != others.end() && at->end <= i.start) ++at;
    std::int64_t from = i.start;
    for (auto other = at; other != others.end() && other->start < i.end; ++other) {
      if (other->start > from) result.push_back({from, other->start});
      from = other->end;
    }
    if (from < i.end) result.push_back({from, i.end});
  }
  return IntervalSet(std::move(result));
}

// Shares the intervals of `a` if all of them are within.
IntervalSet Clip(const IntervalSet& a, Interval within) {
  if (a.empty() || (a.parts().front().start >= within.start && a.parts().back().end <= within.end)) return a;
  const std::span<const Interval> all = a.parts();
  const auto from =
      std::partition_point(all.begin(), all.end(), [&](const Interval& i) { return i.end <= within.start; });
  const auto to = std::partition_point(from, all.end(), [&](const Interval& i) { return i.start < within.end; });
  std::vector<Interval> some(from, to);
  if (some.empty() || within.end <= within.start) return {};
  some.front().start = std::max(some.front().start, within.start);
  some.back().end = std::min(some.back().end, within.end);
  return IntervalSet(std::move(some));
}

void IntervalUnion::Add(Interval interval) {
  if (interval.end <= interval.start) return;
  // Most ranges of a thread are nested in the previous one or follow it.
  if (!parts_.empty() && interval.start >= parts_.back().start && interval.start <= parts_.back().end) {
    parts_.back().end = std::max(parts_.back().end, interval.end);
    return;
  }
  // Reserved room costs no memory until it is used, but moving everything to a new place does.
  if (parts_.size() == parts_.capacity()) parts_.reserve(std::max(kSmallest, 4 * parts_.size()));
  parts_.push_back(interval);
  if (parts_.size() >= compact_at_) Compact();
}

// Sorts only new intervals; the rest already is a union. The next compaction waits for a quarter more, so that the
// cost of merging stays small for each interval.
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
  IntervalSet set(std::exchange(parts_, {}));
  united_ = 0;
  compact_at_ = kSmallest;
  return set;
}

}  // namespace idleburn
