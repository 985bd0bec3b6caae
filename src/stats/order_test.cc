#include "stats/order.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "support/property.h"

namespace idleburn {

namespace {

// numpy.quantile([1, 2, 4, 8], p)
TEST(SortedQuantile, InterpolatesLikeTypeSeven) {
  constexpr std::array<double, 4> kValues = {1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0), 1);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0.5), 3);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0.95), 7.4);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 1), 8);
}

TEST(SortedQuantile, OfOneValueIsThatValue) {
  constexpr std::array<double, 1> kOne = {3};
  EXPECT_EQ(SortedQuantile(kOne, 0.05), 3);
}

TEST(Median, TakesValuesInAnyOrder) {
  EXPECT_EQ(Median({8, 1, 4}), 4);
  EXPECT_EQ(Median({8, 1, 4, 2}), 3);
}

double MedianOf(const std::vector<std::int64_t>& values) {
  WalkedMedian median;
  for (const std::int64_t v : values) median.Count(v);
  if (!median.Narrow()) return median.Value();
  for (const std::int64_t v : values) median.Collect(v);
  return median.Value();
}

void IsThatOfSortedValues() {
  std::vector<std::int64_t> values;
  const int n = *rc::gen::inRange(1, 40);
  for (int i = 0; i < n; ++i) {
    // Of any magnitude, and often near each other or the same.
    const std::int64_t least = std::int64_t{1} << *rc::gen::inRange(0, 50);
    values.push_back(least + *rc::gen::inRange<std::int64_t>(-3, 3));
  }
  RC_ASSERT(MedianOf(values) == Median(std::vector<double>(values.begin(), values.end())));
}

TEST(WalkedMedianTest, IsThatOfSortedValues) { test::ExpectProperty("median of two walks", IsThatOfSortedValues); }

TEST(WalkedMedianTest, ByHand) {
  EXPECT_EQ(MedianOf({7}), 7);
  EXPECT_EQ(MedianOf({0, 9'000'000'000'000'000'000}), 4.5e18);
  EXPECT_EQ(MedianOf({5'000'001, 5'000'000, 5'000'003, 5'000'002}), 5'000'001.5);
  EXPECT_EQ(MedianOf({-5, -3, 2}), -3);
}

TEST(NearSearchTest, FindsTheSameFromAnyGuess) {
  for (std::size_t n = 0; n < 20; ++n) {
    for (std::size_t first = 0; first <= n; ++first) {
      for (std::size_t guess = 0; guess < n + 3; ++guess) {
        EXPECT_EQ(PartitionPointNear(n, guess, [first](std::size_t i) { return i < first; }), first);
      }
    }
  }
}

TEST(NearSearchTest, AGoodGuessLooksAtFew) {
  const std::vector<std::size_t> first = {0, 499'999, 500'000, 999'999};
  for (const std::size_t at : first) {
    int looked = 0;
    const auto before = [&](std::size_t i) { return ++looked, i < at; };
    EXPECT_EQ(PartitionPointNear(1'000'000, at, before), at);
    EXPECT_LE(looked, 2);
  }
}

TEST(NearSearchTest, GuessesByProportion) {
  EXPECT_EQ(EvenGuess(100, 10, 20, 15), 50U);
  EXPECT_EQ(EvenGuess(100, 10, 20, 30), 100U);
  EXPECT_EQ(EvenGuess(100, 10, 20, 5), 0U);
  EXPECT_EQ(EvenGuess(100, 10, 10, 10), 0U);
}

}  // namespace

}  // namespace idleburn
