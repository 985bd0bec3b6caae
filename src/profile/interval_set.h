#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace idleburn {

// Half-open [start, end), nanoseconds.
struct Interval {
  std::int64_t start = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t Ns() const { return end - start; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// A set of instants: sorted, disjoint, non-empty intervals that do not touch.
class IntervalSet {
 public:
  IntervalSet() = default;
  // The union of any intervals, in any order; empty and reversed ones add nothing.
  static IntervalSet UnionOf(std::vector<Interval> intervals);

  [[nodiscard]] std::span<const Interval> parts() const { return parts_; }
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  [[nodiscard]] std::int64_t TotalNs() const;
  // Of `within`, how much lies in the set.
  [[nodiscard]] std::int64_t OverlapNs(Interval within) const;

  friend IntervalSet Union(const IntervalSet& a, const IntervalSet& b);
  friend IntervalSet Intersection(const IntervalSet& a, const IntervalSet& b);
  friend IntervalSet Difference(const IntervalSet& a, const IntervalSet& b);
  friend IntervalSet Clip(const IntervalSet& a, Interval within);
  friend bool operator==(const IntervalSet&, const IntervalSet&) = default;

 private:
  friend class IntervalUnion;
  std::vector<Interval> parts_;
};

// Unites intervals as they come; memory follows the union, not the number of intervals.
class IntervalUnion {
 public:
  void Add(Interval interval);
  [[nodiscard]] IntervalSet Take();

 private:
  static constexpr std::size_t kSmallest = 4096;
  void Compact();

  std::vector<Interval> parts_;  // the first `united_` of them a union, the others as they came
  std::size_t united_ = 0;
  std::size_t compact_at_ = kSmallest;
};

}  // namespace idleburn
