#include "plan/training_time.h"

#include <gtest/gtest.h>

#include "plan/gpu_rate.h"
#include "plan/model_facts.h"
#include "plan/model_table.h"

namespace idleburn {

// Operations against published counts, terms against laws of the hardware, and the arithmetic of a run by hand.
// Multipliers are left out: they belong to the fit.

namespace {

RunConfig At(double sequence, TuneMethod method = TuneMethod::kAllWeights) {
  RunConfig run;
  run.sequence = sequence;
  run.method = method;
  return run;
}

// Megatron-Bridge's published FLOPs per token of Llama-3-70B, attention halved.
TEST(FlopsTest, LlamaSeventyBillion) {
  const ModelFacts facts = *FindModel("LLAMA3_70B");
  const double params = CountParams(facts).total();
  EXPECT_NEAR(FlopsOf(facts, At(8192)).ModelFlops(true) / params, 6.36, 0.03);
  EXPECT_NEAR(FlopsOf(facts, At(4096)).ModelFlops(true) / params, 6.13, 0.03);
  // Of LoRA 3.94 to 3.96 are published: the linear layers, nothing of the frozen weights' gradients.
  EXPECT_NEAR(FlopsOf(facts, At(4096, TuneMethod::kLora)).Linear() / params, 3.95, 0.015);
}

TEST(FlopsTest, RecomputingIsOneMoreForwardOfTheBody) {
  const ModelFacts facts = *FindModel("llama-2-7b");
  RunConfig run = At(2048);
  run.checkpointing = Checkpointing::kWholeLayers;
  EXPECT_DOUBLE_EQ(FlopsOf(facts, run).recompute, 2 * CountParams(facts).body);
  EXPECT_DOUBLE_EQ(FlopsOf(facts, run).Linear(), FlopsOf(facts, At(2048)).Linear());
}

// Selective checkpointing recomputes every other matmul.
TEST(FlopsTest, SelectiveCheckpointingRecomputesHalf) {
  const ModelFacts facts = *FindModel("llama-2-7b");
  RunConfig run = At(2048);
  run.checkpointing = Checkpointing::kWholeLayers;
  const double all = FlopsOf(facts, run).recompute;
  run.checkpointing = Checkpointing::kSelective;
  EXPECT_DOUBLE_EQ(FlopsOf(facts, run).recompute, all / 2);
}

// Layers without attention over the whole sequence (Mamba, sliding windows) have none to count.
TEST(FlopsTest, OnlyAttendingLayersAttend) {
  ModelFacts facts = *FindModel("llama-2-7b");
  const double all = FlopsOf(facts, At(4096)).attention;
  facts.attention_layers = 8;
  EXPECT_DOUBLE_EQ(FlopsOf(facts, At(4096)).attention, all / 4);
}

TEST(FlopsTest, ExpertsCountOnlyWhereATokenPasses) {
  const ModelFacts facts = *FindModel("qwen3-30b-a3b");
  const ParamCounts counts = CountParams(facts);
  EXPECT_NEAR(counts.active_body + counts.head, 3.0e9, 0.3e9);
  EXPECT_LT(FlopsOf(facts, At(4096)).Linear(), 6 * 3.5e9);
}

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

// Examples that need no model of the hardware, worked by hand as fractions; their letters are those of
// tests/plan_options_test.cc.

TEST(RunArithmeticTest, ALoraFineTune) {
  const double batch = EffectiveBatch(2, 4, 1);
  EXPECT_DOUBLE_EQ(batch, 8);
  const RunLength length = LengthOf(100'000, 3, 1024, batch, 1100, 1);
  EXPECT_DOUBLE_EQ(length.minutes_per_epoch, 1000.0 / 11);
  EXPECT_DOUBLE_EQ(length.hours, 50.0 / 11);
  EXPECT_DOUBLE_EQ(length.gpu_hours, 50.0 / 11);
  EXPECT_DOUBLE_EQ(length.steps_per_epoch, 12'500);
  EXPECT_NEAR(length.samples_per_s, 55.0 / 3, 1e-12);
  EXPECT_NEAR(length.tokens_per_s, 18'773.0 + 1.0 / 3, 1e-9);
}

TEST(RunArithmeticTest, AIsImplausibleOnACardOf24Gb) {
  const double tokens = 18'773.0 + 1.0 / 3;
  const double ceiling = CeilingFlops(*RateOf("RTX-4090"), MatmulFormat::kHalf);
  const RooflineCheck plain = CheckRoofline(tokens, RuleOfThumbFlops(7e9, TuneMethod::kLora, false), ceiling);
  EXPECT_NEAR(plain.implied_flops / 1e12, 525.65, 0.005);
  EXPECT_EQ(plain.verdict, Plausibility::kImpossible);
  const RooflineCheck checkpointed = CheckRoofline(tokens, RuleOfThumbFlops(7e9, TuneMethod::kLora, true), ceiling);
  EXPECT_NEAR(checkpointed.implied_flops / 1e12, 788.48, 0.005);
  const RooflineCheck measured = CheckRoofline(3083, RuleOfThumbFlops(8e9, TuneMethod::kLora, false), ceiling);
  EXPECT_NE(measured.verdict, Plausibility::kImpossible);
}

TEST(RunArithmeticTest, BUtilization) {
  const UtilizationChange change = ChangeOf(0.55, 200, 0.88, 130);
  EXPECT_NEAR(change.speedup, 20.0 / 13, 1e-12);
  EXPECT_NEAR(10 / change.speedup, 6.5, 1e-12);
  EXPECT_NEAR(change.saved, 0.35, 1e-12);
  EXPECT_NEAR(change.busy_before_ms, 110, 1e-9);
  EXPECT_NEAR(change.busy_after_ms, 114.4, 1e-9);
  EXPECT_NEAR(change.implied_ms, 125, 1e-9);
  EXPECT_NEAR(change.implied_speedup, 1.6, 1e-12);
}

TEST(RunArithmeticTest, EUtilizationTarget) {
  const UtilizationTarget target = TargetOf(0.45, 220, 0.8);
  EXPECT_NEAR(target.busy_ms, 99, 1e-9);
  EXPECT_NEAR(target.step_ms, 123.75, 1e-9);
  EXPECT_NEAR(target.speedup, 16.0 / 9, 1e-12);
  EXPECT_NEAR(target.saved, 0.4375, 1e-12);
}

TEST(RunArithmeticTest, FBudgetCap) {
  EXPECT_NEAR(CapOf(12, 300'000, 1100, 1, 0).samples_per_min, 1250.0 / 3, 1e-9);
  EXPECT_NEAR(CapOf(12, 300'000, 1100, 1, 0.05).samples_per_min, 437.5, 1e-9);
  EXPECT_NEAR(CapOf(12, 300'000, 1100, 1, 0.10).samples_per_min, 458 + 1.0 / 3, 1e-9);
  EXPECT_NEAR(CapOf(12, 300'000, 1100, 1, 0.20).samples_per_min, 500, 1e-9);
  const CapFacts slow = CapOf(12, 300'000, 1100, 1, 0);
  EXPECT_NEAR(slow.gpu_hours_per_epoch, 50.0 / 11, 1e-12);
  EXPECT_NEAR(100 * slow.share_per_epoch, 37.879, 0.0005);
  EXPECT_NEAR(slow.epochs, 2.64, 1e-9);
  EXPECT_EQ(slow.whole_epochs, 2);
  EXPECT_NEAR(CapOf(12, 300'000, 1100, 1, 0.2).epochs, 2.2, 1e-9);
  const CapFacts fast = CapOf(12, 300'000, 1200, 1, 0);
  EXPECT_NEAR(fast.gpu_hours_per_epoch, 25.0 / 6, 1e-12);
  EXPECT_NEAR(100 * fast.share_per_epoch, 34.722, 0.0005);
  EXPECT_NEAR(fast.epochs, 2.88, 1e-9);
  EXPECT_NEAR(CapOf(12, 300'000, 1200, 1, 0.2).epochs, 2.4, 1e-9);
  EXPECT_NEAR(LengthOf(300'000, 3, 1024, 8, 1200, 1).gpu_hours, 12.5, 1e-12);
  // Four GPUs, ideally four times as fast: the same GPU-hours.
  const CapFacts four = CapOf(12, 300'000, 4 * 1100, 4, 0);
  EXPECT_NEAR(four.gpu_hours_per_epoch, 50.0 / 11, 1e-12);
  EXPECT_NEAR(LengthOf(300'000, 1, 1024, 8, 4 * 1100, 4).hours, 1.1364, 5e-5);
  EXPECT_NEAR(LengthOf(300'000, 1, 1024, 8, 4 * 1200, 4).hours, 1.0417, 5e-5);
}

TEST(RunArithmeticTest, WholeEpochsAreNotLostToRounding) { EXPECT_EQ(CapOf(3 * 0.1, 6, 1, 1, 0).whole_epochs, 3); }

}  // namespace

}  // namespace idleburn
