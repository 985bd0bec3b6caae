#include "stats/near_search.h"

#include <gtest/gtest.h>

#include <vector>

namespace idleburn {
namespace {

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
