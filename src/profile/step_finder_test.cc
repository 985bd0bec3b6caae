#include "profile/step_finder.h"

#include <gtest/gtest.h>

#include <string>

namespace idleburn {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Ranges one after the other on a thread, each with launches spread over it.
void AddRun(StepFinder& finder, const std::string& name, int count, std::int64_t length, int launches,
            std::uint32_t thread = 1, std::int64_t gap = 0) {
  for (int i = 0; i < count; ++i) {
    const std::int64_t start = i * (length + gap);
    finder.AddRange(name + std::to_string(i + 10), {start, start + length}, thread, 0);
    for (int l = 0; l < launches; ++l) finder.AddLaunch(thread, start + l * length / launches);
  }
}

TEST(StepFinderTest, KnowsStepsByName) {
  for (const char* name : {"step", "Step 12", "ProfilerStep#3", "train_step", "TrainStep", "Training step 5/100",
                           "training/global_step=7", "epoch 1 step 5", "Trainer.run_step"}) {
    EXPECT_EQ(StepRank(name), 0U) << name;
  }
  EXPECT_EQ(StepRank("iteration 5"), 1U);
  EXPECT_EQ(StepRank("iter_5"), 2U);
  EXPECT_EQ(StepRank("Train Batch 5"), 3U);
  EXPECT_EQ(StepRank("[pl][profile]run_training_batch"), 3U);
  EXPECT_FALSE(StepRank("[pl][profile]run_training_epoch"));
  for (const char* name : {"", "5", "optimizer step", "Optimizer.step#AdamW.step", "eval step", "forward", "epoch 3",
                           "steps", "stepper", "batch step", "load batch", "batch_norm", "aten::step"}) {
    EXPECT_FALSE(StepRank(name)) << name;
  }
}

TEST(StepFinderTest, TakesNamedStepsWithTheirNumbers) {
  StepFinder finder;
  AddRun(finder, "Step ", 3, 10 * kMs, 2);
  finder.AddRange("forward", {0, 5 * kMs}, 1, 0);
  finder.Choose();
  ASSERT_EQ(finder.steps().size(), 3U);
  EXPECT_EQ(finder.steps()[0].number, 10);
  EXPECT_EQ(finder.steps()[2].number, 12);
  EXPECT_EQ(finder.steps()[2].start_ns, 20 * kMs);
  EXPECT_EQ(finder.steps()[2].end_ns, 30 * kMs);
  EXPECT_TRUE(finder.IsStep("Step 11", 1));
  EXPECT_FALSE(finder.IsStep("Step 11", 2));
  EXPECT_FALSE(finder.IsStep("forward", 1));
}

TEST(StepFinderTest, NumbersThatDoNotAscendAreCounted) {
  StepFinder finder;
  for (int i = 0; i < 6; ++i) {
    finder.AddRange("batch " + std::to_string(i % 3), {i * kMs, (i + 1) * kMs}, 1, 0);
    finder.AddLaunch(1, i * kMs);
  }
  finder.Choose();
  ASSERT_EQ(finder.steps().size(), 6U);
  EXPECT_EQ(finder.steps()[5].number, 5);
}

TEST(StepFinderTest, AStepIsWhereTheWorkIsLaunched) {
  StepFinder finder;
  AddRun(finder, "step ", 4, 10 * kMs, 0, 2);  // a thread that launches nothing
  AddRun(finder, "batch ", 4, 10 * kMs, 5, 1);
  finder.Choose();
  ASSERT_EQ(finder.steps().size(), 4U);
  EXPECT_TRUE(finder.IsStep("batch 10", 1));

  StepFinder elsewhere;  // most of the thread's work lies outside
  AddRun(elsewhere, "step ", 4, 10 * kMs, 5, 1);
  for (int i = 0; i < 21; ++i) elsewhere.AddLaunch(1, 100 * kMs + i);
  elsewhere.Choose();
  EXPECT_TRUE(elsewhere.steps().empty());
}

TEST(StepFinderTest, StepsDoNotOverlap) {
  StepFinder finder;
  AddRun(finder, "step ", 4, 10 * kMs, 5, 1, -kMs);
  finder.Choose();
  EXPECT_TRUE(finder.steps().empty());
}

TEST(StepFinderTest, ProcessesHaveTheirOwn) {
  StepFinder finder;
  for (std::uint16_t process = 0; process < 2; ++process) {
    finder.AddRange("step 0", {process, kMs}, process, process);
    finder.AddLaunch(process, process);
  }
  finder.Choose();
  ASSERT_EQ(finder.steps().size(), 2U);
  EXPECT_EQ(finder.steps()[0].process, 0);
  EXPECT_EQ(finder.steps()[1].process, 1);
}

TEST(StepFinderTest, WithoutANameTakesTheLongestRegularRange) {
  StepFinder finder;
  AddRun(finder, "pass ", 8, 20 * kMs, 60);
  for (int i = 0; i < 16; ++i) finder.AddRange("half", {i * 10 * kMs, (i + 1) * 10 * kMs}, 1, 0);
  finder.Choose();
  ASSERT_EQ(finder.steps().size(), 8U);
  EXPECT_TRUE(finder.IsStep("pass 3", 1));
  EXPECT_FALSE(finder.IsStep("half", 1));
}

// Each misses the rule by one thing.
TEST(StepFinderTest, WithoutANameNoStepsRatherThanWrongOnes) {
  struct Miss {
    const char* what;
    int count;
    std::int64_t length;
    int launches;
    std::int64_t gap;
  };
  const Miss few{"four ranges", 4, 20 * kMs, 60, 0};
  const Miss small{"19 launches", 8, 20 * kMs, 19, 0};
  const Miss gaps{"ranges that leave 20 % open", 8, 20 * kMs, 60, 5 * kMs};
  for (const Miss& miss : {few, small, gaps}) {
    StepFinder finder;
    AddRun(finder, "pass ", miss.count, miss.length, miss.launches, 1, miss.gap);
    finder.Choose();
    EXPECT_TRUE(finder.steps().empty()) << miss.what;
  }
  StepFinder uneven;
  std::int64_t at = 0;
  for (int i = 0; i < 10; ++i) {
    const std::int64_t length = (i % 2 == 0 ? 10 : 14) * kMs;
    uneven.AddRange("pass", {at, at + length}, 1, 0);
    for (int l = 0; l < 30; ++l) uneven.AddLaunch(1, at + l);
    at += length;
  }
  uneven.Choose();
  EXPECT_TRUE(uneven.steps().empty());
}

TEST(StepFinderTest, ForgetsRangesThatCannotBeSteps) {
  StepFinder finder;
  for (int i = 0; i < 100'000; ++i) finder.AddRange("op", {i * 100, i * 100 + 20}, 1, 0);
  AddRun(finder, "pass ", 8, 20 * kMs, 60);
  finder.Choose();
  EXPECT_EQ(finder.steps().size(), 8U);
}

}  // namespace
}  // namespace idleburn
