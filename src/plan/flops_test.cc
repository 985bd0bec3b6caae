#include "plan/flops.h"

#include <gtest/gtest.h>

#include "plan/model_table.h"

namespace idleburn {
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

}  // namespace
}  // namespace idleburn
