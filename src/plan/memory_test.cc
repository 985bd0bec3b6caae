#include "plan/memory.h"

#include <gtest/gtest.h>

#include "plan/model_facts.h"
#include "plan/model_table.h"

namespace idleburn {

// Parts that can be worked out by hand, and laws that any run must obey: sharing out divides, more work never takes
// less, and the breakdown adds up.

namespace {

// Without norms, which tensor parallelism does not divide.
ModelFacts Llama() {
  ModelFacts facts = *FindModel("llama-3.2-3b");
  facts.other_params = 0;
  return facts;
}

RunConfig Usual() {
  RunConfig run;
  run.sequence = 4096;
  run.micro_batch = 2;
  return run;
}

constexpr MemoryCoefficients kPlain = {1, 1, 1, 1, 1, 1, 1, 0, 1};

// 2 sequences of 4,096 tokens x 128,256 words x 14 bytes.
TEST(MemoryTest, LogitsOfTheWorkedExample) {
  EXPECT_DOUBLE_EQ(PartsOf(Llama(), Usual()).logits, 14709424128.0);
  RunConfig chunked = Usual();
  chunked.chunked_loss = true;
  EXPECT_DOUBLE_EQ(PartsOf(Llama(), chunked).logits, 14709424128.0 / 8);
}

// By hand: pure 16-bit AdamW is 8 bytes a parameter, mixed precision 18 with fp32 gradients.
TEST(MemoryTest, BytesPerParameter) {
  const double params = CountParams(Llama()).total();
  const auto total = [&](const NumberBytes& bytes) {
    RunConfig run = Usual();
    run.bytes = bytes;
    const MemoryParts parts = PartsOf(Llama(), run);
    return (parts.weights + parts.optimizer + parts.gradients) / params;
  };
  EXPECT_NEAR(total({2, 0, 2, 4, 0, 2, 2}), 8, 1e-9);
  EXPECT_NEAR(total({2, 4, 4, 8, 0, 2, 2}), 18, 1e-9);
}

// What is shared out is divided by the data-parallel degree, never by all GPUs.
TEST(MemoryTest, ShardingDividesByTheDataParallelDegree) {
  RunConfig run = Usual();
  const MemoryParts whole = PartsOf(Llama(), run);
  run.gpus = 16;
  run.tensor_parallel = 2;
  run.sharding = Sharding::kZero3;
  const MemoryParts parts = PartsOf(Llama(), run);
  EXPECT_DOUBLE_EQ(parts.weights, whole.weights / 2 / 8);
  EXPECT_DOUBLE_EQ(parts.optimizer, whole.optimizer / 2 / 8);
  EXPECT_GT(parts.gathered, 0);
  run.sharding = Sharding::kZero1;
  EXPECT_DOUBLE_EQ(PartsOf(Llama(), run).weights, whole.weights / 2);
  EXPECT_DOUBLE_EQ(PartsOf(Llama(), run).optimizer, whole.optimizer / 2 / 8);
  run.sharding = Sharding::kZero2;
  EXPECT_DOUBLE_EQ(PartsOf(Llama(), run).gradients, whole.gradients / 2 / 8);
}

// Activations and gradients do not meet where a step has one pass, and do where passes accumulate.
TEST(MemoryTest, ThePeakIsAMaximum) {
  RunConfig run = Usual();
  const MemoryParts once = PartsOf(Llama(), run);
  run.accumulation = 8;
  const MemoryParts many = PartsOf(Llama(), run);
  const PeakMemory peak = PeakOf(once, kPlain);
  const double x = peak.forward_backward;
  const double g = peak.step;
  EXPECT_GE(peak.phase, std::max(x, g));
  EXPECT_LT(peak.phase, x + g);
  EXPECT_GT(PeakOf(many, kPlain).total(), peak.total());
  EXPECT_DOUBLE_EQ(PeakOf(many, kPlain).gradients, once.gradients);
}

TEST(MemoryTest, TheBreakdownAddsUp) {
  const PeakMemory peak = PeakOf(PartsOf(Llama(), Usual()), MemoryCoefficients{});
  EXPECT_DOUBLE_EQ(peak.total(), peak.resident + peak.gathered + peak.gradients + peak.phase + peak.context);
}

TEST(MemoryTest, MoreWorkNeverTakesLess) {
  const auto total = [](const RunConfig& run) { return PeakOf(PartsOf(Llama(), run), MemoryCoefficients{}).total(); };
  RunConfig run = Usual();
  const double plain = total(run);
  run.micro_batch = 3;
  EXPECT_GT(total(run), plain);
  run = Usual();
  run.sequence *= 2;
  EXPECT_GT(total(run), plain);
  run = Usual();
  run.checkpointing = Checkpointing::kWholeLayers;
  EXPECT_LT(total(run), plain);
  run.compile = true;
  EXPECT_LT(total(run), plain);
  run = Usual();
  run.method = TuneMethod::kLora;
  run.trained = 1e7;
  EXPECT_LT(total(run), plain);
}

TEST(MemoryTest, TheContextIsOnlyInWhatTheDeviceShows) {
  RunConfig run = Usual();
  run.metric = MemoryMetric::kAllocated;
  EXPECT_EQ(PeakOf(PartsOf(Llama(), run), kPlain).context, 0);
  run.metric = MemoryMetric::kDevice;
  EXPECT_EQ(PeakOf(PartsOf(Llama(), run), kPlain).context, kGib);
}

// Fits if high <= 0.97 capacity, tight if only the likely value fits.
TEST(MemoryTest, FitDecisions) {
  EXPECT_EQ(JudgeFit(80, 97, 100), MemoryFit::kFits);
  EXPECT_EQ(JudgeFit(80, 97.1, 100), MemoryFit::kTight);
  EXPECT_EQ(JudgeFit(100.1, 105, 100), MemoryFit::kNo);
  EXPECT_TRUE(FitsWithMargin(90, 100));
  EXPECT_FALSE(FitsWithMargin(91, 100));
}

// 70.55 B parameters over TP 8 and PP 4, shared out by 8: a stage has about 2.2 B. States without gradients 3.31 GB,
// gathered weights 4.41 GB, gradients that stay whole until the last micro-batch 8.82 GB; the fullest stage has the
// embedding too.
TEST(MemoryTest, APipelineUnderFsdpKeepsItsStageGathered) {
  const ModelFacts facts = *FindModel("llama-3.1-70b");
  RunConfig run;
  run.gpus = 256;
  run.tensor_parallel = 8;
  run.pipeline_parallel = 4;
  run.sharding = Sharding::kZero3;
  run.bytes = {4, 0, 4, 8, 0, 2, 2};
  run.sequence = 8192;
  run.accumulation = 4;
  const MemoryParts parts = PartsOf(facts, run);
  EXPECT_NEAR((parts.weights + parts.optimizer) / 3.31e9, 1, 0.05);
  EXPECT_NEAR(parts.gathered / 4.41e9, 1, 0.05);
  EXPECT_NEAR(parts.gradients / 8.82e9, 1, 0.05);
}

// Liger's rows: 2^ceil(log2(32768 / ceil(128256 / 4096))) = 1024 of 128,256 numbers of 2 bytes, and the gradient of the
// head's input.
TEST(MemoryTest, AFusedLossHoldsAFewRows) {
  RunConfig run;
  run.sequence = 32768;
  run.fused_loss = true;
  const MemoryParts parts = PartsOf(*FindModel("llama-3.1-8b"), run);
  EXPECT_DOUBLE_EQ(parts.logits, 262'668'288.0 + 32768.0 * 4096 * 2);
}

// Two context ranks halve activations and logits; FSDP shares out over them too.
TEST(MemoryTest, ContextRanksShareASequence) {
  RunConfig run;
  run.sequence = 8192;
  run.gpus = 8;
  run.sharding = Sharding::kZero3;
  const MemoryParts alone = PartsOf(Llama(), run);
  run.context_parallel = 2;
  const MemoryParts shared = PartsOf(Llama(), run);
  EXPECT_DOUBLE_EQ(shared.activations, alone.activations / 2);
  EXPECT_DOUBLE_EQ(shared.logits, alone.logits / 2);
  EXPECT_DOUBLE_EQ(shared.weights, alone.weights);
}

// States of experts are divided by expert parallelism before anything else.
TEST(MemoryTest, ExpertRanksHoldTheirExperts) {
  const ModelFacts facts = *FindModel("mixtral-8x7b");
  RunConfig run;
  run.sequence = 512;
  run.gpus = 8;
  const double all = PartsOf(facts, run).weights;
  run.expert_parallel = 8;
  const ParamCounts counts = CountParams(facts);
  EXPECT_DOUBLE_EQ(all - PartsOf(facts, run).weights, 2 * counts.experts * 7 / 8);
}

// What a run holds for sure: 16-bit weights and two fp32 moments are 10 bytes a parameter, and a context of 0.47 GiB.
// States that are paged may all be in host memory.
TEST(MemoryTest, TheFloorIsWeightsStatesAndAContext) {
  const double params = CountParams(Llama()).total();
  RunConfig run = Usual();
  run.bytes = {2, 0, 2, 8, 0, 2, 2};
  EXPECT_NEAR(LeastBytes(PartsOf(Llama(), run)), 10 * params + 0.47 * kGib, 1);
  run.paged_optimizer = true;
  EXPECT_NEAR(LeastBytes(PartsOf(Llama(), run)), 2 * params + 0.47 * kGib, 1);
  run.metric = MemoryMetric::kAllocated;
  EXPECT_NEAR(LeastBytes(PartsOf(Llama(), run)), 2 * params, 1);
}

}  // namespace
}  // namespace idleburn
