#include "plan/step_time.h"

#include <gtest/gtest.h>

#include "plan/model_table.h"

namespace idleburn {
namespace {

RunConfig Usual() {
  RunConfig run;
  run.gpu = "h100_80gb";
  run.gpus = 64;
  run.nodes = 8;
  run.sequence = 4096;
  return run;
}

double TermOf(TimeTerm term, const RunConfig& run, const char* model = "llama-3.1-8b") {
  return TermsOf(*FindModel(model), run, *RateOf(run.gpu))[static_cast<std::size_t>(term)];
}

double Seconds(const RunConfig& run, std::initializer_list<TimeTerm> counted) {
  std::array<double, kTimeTermCount> coefficients{};
  for (const TimeTerm term : counted) coefficients[static_cast<std::size_t>(term)] = 1;
  return SecondsPerToken(TermsOf(*FindModel("llama-3.1-8b"), run, *RateOf(run.gpu)), coefficients);
}

// Of p ranks with v stages each and m passes a step, (p - 1) / (m v) of the time is waited (docs/plan.md, "Time").
TEST(StepTimeTest, ThePipelineWaitsItsShareOfAllWork) {
  RunConfig run = Usual();
  const double alone = Seconds(run, {TimeTerm::kLinear, TimeTerm::kBubble});
  run.pipeline_parallel = 4;
  run.accumulation = 8;
  run.virtual_stages = 2;
  EXPECT_NEAR(Seconds(run, {TimeTerm::kLinear, TimeTerm::kBubble}) / alone, 1 + 3.0 / 16, 1e-9);
  EXPECT_NEAR(Seconds(run, {TimeTerm::kVocabulary, TimeTerm::kBubble}) / Seconds(run, {TimeTerm::kVocabulary}),
              1 + 3.0 / 16, 1e-9);
}

TEST(StepTimeTest, TensorParallelismExchangesWithEveryOtherGpu) {
  RunConfig run = Usual();
  EXPECT_EQ(TermOf(TimeTerm::kTensor, run), 0);
  run.tensor_parallel = 2;
  const double two = TermOf(TimeTerm::kTensor, run);
  EXPECT_GT(two, 0);
  run.tensor_parallel = 8;
  EXPECT_NEAR(TermOf(TimeTerm::kTensor, run) / two, 7, 1e-9);
}

TEST(StepTimeTest, ExpertsElsewhereCostTheLinksBetween) {
  RunConfig run = Usual();
  const char* model = "qwen3-30b-a3b";
  EXPECT_EQ(TermOf(TimeTerm::kExperts, run, model), 0);
  run.expert_parallel = 8;
  const double node = TermOf(TimeTerm::kExperts, run, model);
  EXPECT_GT(node, 0);
  run.expert_parallel = 64;  // leaves the node: slower links
  EXPECT_GT(TermOf(TimeTerm::kExperts, run, model), 2 * node);
  EXPECT_EQ(TermOf(TimeTerm::kExperts, run, "llama-3.1-8b"), 0);
  EXPECT_EQ(TermOf(TimeTerm::kRouting, run, "llama-3.1-8b"), 0);
}

// Without sharded gradients, weights and gradients pass once a step: more passes, less for each.
TEST(StepTimeTest, UnshardedGradientsPassOnceAStep) {
  RunConfig run = Usual();
  run.sharding = Sharding::kZero1;
  const double once = TermOf(TimeTerm::kExchange, run);
  run.accumulation = 8;
  EXPECT_NEAR(TermOf(TimeTerm::kExchange, run) / once, 1.0 / 8, 1e-9);
  run.sharding = Sharding::kZero3;
  const double sharded = TermOf(TimeTerm::kExchange, run);
  run.accumulation = 16;
  EXPECT_DOUBLE_EQ(TermOf(TimeTerm::kExchange, run), sharded);
  run.gpus = 1;
  run.nodes = 1;
  EXPECT_EQ(TermOf(TimeTerm::kExchange, run), 0);
}

// A GPU exchanges the gradients of its own experts only.
TEST(StepTimeTest, ExpertsOfOthersAreNotExchanged) {
  RunConfig run = Usual();
  run.sharding = Sharding::kZero1;
  const double whole = TermOf(TimeTerm::kExchange, run, "qwen3-30b-a3b");
  run.expert_parallel = 8;
  const double own = TermOf(TimeTerm::kExchange, run, "qwen3-30b-a3b");
  EXPECT_LT(own, 0.25 * whole);
  EXPECT_GT(own, whole / 8);
}

// The host, the links and the GPU work at once: the longest counts, never less and never the sum.
TEST(StepTimeTest, WhatRunsAtOnceIsNotAdded) {
  RunConfig run = Usual();
  run.sharding = Sharding::kZero3;
  const double device = Seconds(run, {TimeTerm::kLinear});
  const double host = Seconds(run, {TimeTerm::kLaunches});
  const double links = Seconds(run, {TimeTerm::kExchange});
  const double all = Seconds(run, {TimeTerm::kLinear, TimeTerm::kLaunches, TimeTerm::kExchange});
  EXPECT_GE(all, std::max({device, host, links}));
  EXPECT_LT(all, device + host + links);
}

// A pass as short as it may be still costs its launches: they are spread over fewer tokens.
TEST(StepTimeTest, ShortPassesAreBoundByLaunches) {
  RunConfig run = Usual();
  const double pass = TermOf(TimeTerm::kLaunches, run) * 4096;
  run.sequence = 512;
  EXPECT_NEAR(TermOf(TimeTerm::kLaunches, run) * 512, pass, 1e-12);
  run.mean_sequence = 128;  // what batches really hold
  EXPECT_NEAR(TermOf(TimeTerm::kLaunches, run) * 128, pass, 1e-12);
}

}  // namespace
}  // namespace idleburn
