#include "base/work_unit.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

WorkCount Of(std::optional<std::int64_t> steps, std::optional<std::int64_t> samples,
             std::optional<std::int64_t> epochs = {}) {
  WorkCount work;
  work[WorkUnit::kStep] = steps;
  work[WorkUnit::kSample] = samples;
  work[WorkUnit::kEpoch] = epochs;
  return work;
}

TEST(WorkCountTest, RanksTakeTheSameStepsAndSamplesOfTheirOwn) {
  WorkCount all;
  EXPECT_FALSE(all.any());
  all.AddRank(Of(10, 320));
  all.AddRank(Of(12, {}, 1));
  all.AddRank(Of({}, 100));
  EXPECT_EQ(all, Of(12, 420, 1));
  EXPECT_TRUE(all.any());
  all.AddRank({});
  EXPECT_EQ(all, Of(12, 420, 1));
}

TEST(WorkCountTest, TheOrderOfRanksIsNoMatter) {
  const WorkCount ranks[] = {Of(-3, 5), Of({}, 7, 2), Of(-4, {}, 0)};
  WorkCount forward;
  WorkCount backward;
  for (int i = 0; i < 3; ++i) {
    forward.AddRank(ranks[i]);
    backward.AddRank(ranks[2 - i]);
  }
  EXPECT_EQ(forward, Of(-3, 12, 2));
  EXPECT_EQ(backward, forward);
}

TEST(WorkCountTest, WhatIsBeyondIsKnownOnBothSidesAndRose) {
  EXPECT_EQ(Of(9, 90, 2).Beyond(Of(4, 100)), Of(5, {}));
  EXPECT_EQ(Of(9, 90).Beyond(Of(9, 80)), Of({}, 10));
  EXPECT_FALSE(Of(9, 90).Beyond({}).any());
}

}  // namespace
}  // namespace idleburn
