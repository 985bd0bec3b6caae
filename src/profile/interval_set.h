#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace idleburn {

// Sets of time ranges. Questions about a trace are questions about such sets: when was the device busy, what did the
// host do in its gaps, which copies were hidden behind kernels.

// A half-open range [start, end) in nanoseconds.
struct Interval {
  std::int64_t start = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t Ns() const { return end - start; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// A set of instants as sorted, disjoint, non-empty intervals that do not touch. Copies share the intervals, which may
// be millions. The time budget of a trace is made of these sets: unions over streams, and differences between them.
class IntervalSet {
 public:
  IntervalSet() = default;
  // The union of intervals in any order. Empty and reversed ones add nothing.
  static IntervalSet UnionOf(std::vector<Interval> intervals);

  [[nodiscard]] std::span<const Interval> parts() const {
    return parts_ == nullptr ? std::span<const Interval>() : std::span<const Interval>(*parts_);
  }
  [[nodiscard]] bool empty() const { return parts_ == nullptr; }
  // The length of all intervals together, in nanoseconds.
  [[nodiscard]] std::int64_t TotalNs() const;
  // How much of `within` is in the set, in nanoseconds. The search for its start takes logarithmic time.
  [[nodiscard]] std::int64_t OverlapNs(Interval within) const;

  // Set operations in linear time. Clip is the part of `a` in one interval.
  friend IntervalSet Union(const IntervalSet& a, const IntervalSet& b);
  friend IntervalSet Intersection(const IntervalSet& a, const IntervalSet& b);
  friend IntervalSet Difference(const IntervalSet& a, const IntervalSet& b);
  friend IntervalSet Clip(const IntervalSet& a, Interval within);
  friend bool operator==(const IntervalSet& a, const IntervalSet& b) {
    return std::equal(a.parts().begin(), a.parts().end(), b.parts().begin(), b.parts().end());
  }

 private:
  friend class IntervalUnion;
  // `parts` must be sorted and disjoint already.
  explicit IntervalSet(std::vector<Interval> parts) {
    if (!parts.empty()) parts_ = std::make_shared<const std::vector<Interval>>(std::move(parts));
  }

  std::shared_ptr<const std::vector<Interval>> parts_;  // null: none
};

// Unites intervals as they come. Memory follows the size of the union, not the number of intervals: the operators of
// a trace are nested, so millions of them unite to far fewer intervals.
class IntervalUnion {
 public:
  void Add(Interval interval);
  // The union. This is empty afterwards.
  [[nodiscard]] IntervalSet Take();

 private:
  // Intervals that are collected before they are united for the first time.
  static constexpr std::size_t kSmallest = 4096;
  void Compact();

  std::vector<Interval> parts_;  // the first `united_` are a union, the rest are as they came
  std::size_t united_ = 0;
  std::size_t compact_at_ = kSmallest;
};

}  // namespace idleburn
