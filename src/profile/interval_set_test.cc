#include "profile/interval_set.h"

#include <gtest/gtest.h>

#include <set>

#include "support/property.h"

namespace idleburn {
namespace {

std::vector<Interval> Parts(const IntervalSet& set) { return {set.parts().begin(), set.parts().end()}; }

// The naive twin: one element for each nanosecond.
std::set<std::int64_t> Instants(const IntervalSet& set) {
  std::set<std::int64_t> all;
  for (const Interval& i : set.parts()) {
    for (std::int64_t t = i.start; t < i.end; ++t) all.insert(t);
  }
  return all;
}

std::vector<Interval> AnyIntervals() {
  std::vector<Interval> intervals;
  const int n = *rc::gen::inRange(0, 12);
  for (int i = 0; i < n; ++i) {
    const std::int64_t start = *rc::gen::inRange<std::int64_t>(-40, 40);
    intervals.push_back({start, start + *rc::gen::inRange<std::int64_t>(-2, 12)});
  }
  return intervals;
}

TEST(IntervalSetTest, JoinsWhatOverlapsOrTouchesAndDropsTheEmpty) {
  const IntervalSet set = IntervalSet::UnionOf({{5, 7}, {1, 3}, {3, 4}, {6, 9}, {12, 12}, {15, 14}});
  EXPECT_EQ(Parts(set), (std::vector<Interval>{{1, 4}, {5, 9}}));
  EXPECT_EQ(set.TotalNs(), 7);
  EXPECT_EQ(set.OverlapNs({2, 6}), 3);
  EXPECT_EQ(set.OverlapNs({4, 5}), 0);
}

void HoldsForAnySets() {
  const std::vector<Interval> first = AnyIntervals();
  IntervalUnion piecewise;
  for (const Interval& i : first) piecewise.Add(i);
  const IntervalSet a = IntervalSet::UnionOf(first);
  RC_ASSERT(a == piecewise.Take());
  const IntervalSet b = IntervalSet::UnionOf(AnyIntervals());
  const std::int64_t from = *rc::gen::inRange<std::int64_t>(-45, 45);
  const Interval window{from, from + *rc::gen::inRange<std::int64_t>(0, 30)};

  const std::set<std::int64_t> x = Instants(a);
  const std::set<std::int64_t> y = Instants(b);
  std::set<std::int64_t> both;
  std::set<std::int64_t> common;
  std::set<std::int64_t> rest;
  std::set<std::int64_t> clipped;
  for (std::int64_t t = -60; t < 90; ++t) {
    if (x.contains(t) || y.contains(t)) both.insert(t);
    if (x.contains(t) && y.contains(t)) common.insert(t);
    if (x.contains(t) && !y.contains(t)) rest.insert(t);
    if (x.contains(t) && t >= window.start && t < window.end) clipped.insert(t);
  }
  RC_ASSERT(Instants(Union(a, b)) == both);
  RC_ASSERT(Instants(Intersection(a, b)) == common);
  RC_ASSERT(Instants(Difference(a, b)) == rest);
  RC_ASSERT(Instants(Clip(a, window)) == clipped);
  RC_ASSERT(a.OverlapNs(window) == static_cast<std::int64_t>(clipped.size()));
  for (const IntervalSet& set : {a, Union(a, b), Difference(a, b)}) {
    for (std::size_t i = 1; i < set.parts().size(); ++i) RC_ASSERT(set.parts()[i - 1].end < set.parts()[i].start);
  }
}

TEST(IntervalSetTest, OperationsAreThoseOfSets) { test::ExpectProperty("sets of nanoseconds", HoldsForAnySets); }

// Several threads, each from the start again, more often than compacting waits for.
TEST(IntervalSetTest, AUnionInPiecesIsTheUnionOfAll) {
  IntervalUnion piecewise;
  std::vector<Interval> all;
  for (std::int64_t thread = 0; thread < 5; ++thread) {
    for (std::int64_t i = 0; i < 9000; ++i) {
      const std::int64_t start = i * 20 + (i * 7919 + thread * 31) % 17;
      all.push_back({start, start + 1 + (i * 31 + thread) % 9});
      piecewise.Add(all.back());
    }
  }
  const IntervalSet united = piecewise.Take();
  EXPECT_GT(united.parts().size(), 9000U);
  EXPECT_EQ(united, IntervalSet::UnionOf(all));
}

TEST(IntervalSetTest, AUnionOfMuchKeepsOnlyItsParts) {
  IntervalUnion all;
  for (std::int64_t i = 0; i < 100000; ++i) all.Add({(i * 7919) % 100000, (i * 7919) % 100000 + 1});
  EXPECT_EQ(Parts(all.Take()), (std::vector<Interval>{{0, 100000}}));
  EXPECT_TRUE(all.Take().empty());
}

TEST(IntervalSetTest, SetsThatNothingChangesAreNotCopied) {
  const IntervalSet set = IntervalSet::UnionOf({{5, 7}, {1, 3}});
  const Interval* const parts = set.parts().data();
  for (const IntervalSet& same : {Union(set, {}), Union({}, set), Difference(set, {}), Clip(set, {0, 9})}) {
    EXPECT_EQ(same.parts().data(), parts);
  }
  EXPECT_EQ(Parts(Clip(set, {2, 6})), (std::vector<Interval>{{2, 3}, {5, 6}}));
  EXPECT_EQ(set, IntervalSet::UnionOf({{1, 3}, {5, 7}}));
  EXPECT_TRUE(Difference(set, set).empty());
}

}  // namespace
}  // namespace idleburn
