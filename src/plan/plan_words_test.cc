#include "plan/plan_words.h"

#include <gtest/gtest.h>

#include "plan/calibration.h"
#include "plan/memory.h"

namespace idleburn {

// Plans in words: what a complete one becomes, what a framework adds to a short one, and the sentence for each mistake.

namespace {

PlanWords Words() { return {{"model", "llama-2-7b"}, {"seq_len", "1024"}}; }

void ExpectComplaint(const PlanWords& words, const char* part) {
  const Result<PlannedRun> plan = ReadPlan(words);
  ASSERT_FALSE(plan) << part;
  EXPECT_NE(plan.error().message.find(part), std::string::npos) << plan.error().message;
  EXPECT_EQ(plan.error().kind, Error::Kind::kUsage);
}

TEST(PlanWordsTest, ReadsARun) {
  PlanWords words = Words();
  words["method"] = "lora";
  words["rank"] = "8";
  words["targets"] = "q_proj, v_proj";
  words["gpus"] = "16";
  words["tp"] = "2";
  words["sharding"] = "fsdp";
  words["samples"] = "100k";
  const Result<PlannedRun> plan = ReadPlan(words);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_DOUBLE_EQ(plan->run.run.trained, 4194304);
  EXPECT_DOUBLE_EQ(plan->run.run.DataParallel(), 8);
  EXPECT_EQ(plan->run.run.sharding, Sharding::kZero3);
  EXPECT_DOUBLE_EQ(*plan->samples, 100'000);
  EXPECT_EQ(plan->run.run.nodes, 2);
}

TEST(PlanWordsTest, ReadsAShapeOfItsOwn) {
  const Result<PlannedRun> plan = ReadPlan({{"layers", "32"},
                                            {"hidden", "4096"},
                                            {"heads", "32"},
                                            {"ffn", "11008"},
                                            {"vocab", "32000"},
                                            {"params", "6.74B"},
                                            {"seq_len", "512"}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_DOUBLE_EQ(CountParams(plan->run.facts).total(), 6738149376.0);
}

TEST(PlanWordsTest, FrameworksAreKnownHoweverTheyAreWritten) {
  PlanWords words = Words();
  words["framework"] = "pytorch/TorchTune";
  const Result<PlannedRun> plan = ReadPlan(words);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->run.run.framework, "torchtune");
}

// Body 6,476,005,376 in 8 bits; embedding and head (2 x 131,072,000) and norms (266,240) raised to fp32.
TEST(PlanWordsTest, ABaseInEightBits) {
  for (const char* method : {"lora", "qlora", ""}) {
    PlanWords words = Words();
    words["method"] = method;
    words["quantization"] = "int8";
    const Result<PlannedRun> plan = ReadPlan(words);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->run.run.method, TuneMethod::kLora);
    EXPECT_DOUBLE_EQ(PartsOf(plan->run.facts, plan->run.run).frozen, 6'476'005'376.0 + 4 * (262'144'000.0 + 266'240.0));
  }
  PlanWords words = Words();
  words["quantization"] = "nf4";
  EXPECT_EQ(ReadPlan(words)->run.run.method, TuneMethod::kQlora);
  words["method"] = "full";
  ExpectComplaint(words, "needs untrained weights");
  words["method"] = "qlora";
  words["quantization"] = "none";
  ExpectComplaint(words, "contradicts itself");
  words["quantization"] = "int7";
  ExpectComplaint(words, "did you mean int8?");
}

// A plan that names a framework and little else against what was measured with it (GiB; Qwen's fine-tuning study,
// Answer.AI's FSDP + QLoRA, torchtitan's report): memory is what the framework does where nothing is said.
TEST(PlanWordsTest, AFrameworkDoesAsItUsesTo) {
  struct Measured {
    PlanWords words;
    double gib;
    bool on_device;
  };
  const std::vector<Measured> measured = {{{{"framework", "qwen"},
                                            {"model", "qwen-7b"},
                                            {"method", "lora"},
                                            {"rank", "64"},
                                            {"seq_len", "4096"},
                                            {"accumulation", "8"}},
                                           29.7,
                                           true},
                                          {{{"framework", "qwen"},
                                            {"model", "qwen-7b"},
                                            {"method", "qlora"},
                                            {"rank", "64"},
                                            {"seq_len", "4096"},
                                            {"accumulation", "8"}},
                                           16.9,
                                           true},
                                          {{{"framework", "fsdp_qlora"},
                                            {"model", "llama-2-70b"},
                                            {"method", "qlora"},
                                            {"rank", "64"},
                                            {"seq_len", "2048"},
                                            {"micro_batch", "2"},
                                            {"gpus", "2"},
                                            {"offload", "yes"}},
                                           14.92,
                                           false},
                                          {{{"framework", "torchtitan"},
                                            {"model", "llama-3.1-8b"},
                                            {"seq_len", "8192"},
                                            {"micro_batch", "2"},
                                            {"gpus", "8"},
                                            {"checkpointing", "selective"},
                                            {"compile", "yes"}},
                                           77.0,
                                           false}};
  for (const Measured& run : measured) {
    const Result<PlannedRun> plan = ReadPlan(run.words);
    ASSERT_TRUE(plan) << plan.error().message;
    RunRow row = plan->run;
    if (!run.on_device) row.run.metric = MemoryMetric::kReserved;
    const double gib = PredictPeakBytes(ShippedCalibration(), row)->likely / kGib;
    EXPECT_NEAR(gib / run.gib, 1, 0.15) << row.run.framework << " " << gib;
    ASSERT_FALSE(plan->assumed.empty());
    EXPECT_NE(plan->assumed.front().find(row.run.framework), std::string::npos);
  }
  PlanWords said = measured.front().words;  // what is said goes before
  said["checkpointing"] = "none";
  said["precision"] = "amp";
  const Result<PlannedRun> plan = ReadPlan(said);
  EXPECT_EQ(plan->run.run.checkpointing, Checkpointing::kNone);
  EXPECT_EQ(plan->run.run.bytes.gradient, 4);
}

TEST(PlanWordsTest, DefaultsAreStated) {
  const PlannedRun plan = ReadPlan({{"model", "llama-2-7b"}}).value();
  EXPECT_EQ(plan.run.run.sequence, 2048);
  EXPECT_EQ(plan.run.run.micro_batch, 1);
  EXPECT_EQ(plan.run.tokens_per_iter, 2048);
  EXPECT_EQ(plan.assumed, (std::vector<std::string>{
                              "training of all weights (default; --method)",
                              "no checkpointing (default; --checkpointing)", "fp32 masters (default; --precision)",
                              "sequence length 2048 (default; --seq-len)", "micro-batch 1 (default; --micro-batch)"}));
  const PlannedRun given = ReadPlan({{"model", "llama-2-7b"},
                                     {"method", "full"},
                                     {"seq_len", "2048"},
                                     {"micro_batch", "1"},
                                     {"precision", "amp"},
                                     {"checkpointing", "none"}})
                               .value();
  EXPECT_EQ(given.assumed, std::vector<std::string>());
}

// 16 GPUs on two machines: each machine holds a whole copy of the states.
TEST(PlanWordsTest, HybridShardingKeepsAReplicaOfEachGroup) {
  const auto resident = [](const char* sharding, const char* shards) {
    PlanWords words = Words();
    words["gpus"] = "16";
    words["sharding"] = sharding;
    words["shards"] = shards;
    const Result<PlannedRun> plan = ReadPlan(words);
    EXPECT_TRUE(plan) << plan.error().message;
    const MemoryParts parts = PartsOf(plan->run.facts, plan->run.run);
    return parts.weights + parts.optimizer;
  };
  for (const char* name : {"hsdp", "HYBRID_SHARD", "hybrid"}) {
    EXPECT_DOUBLE_EQ(resident(name, ""), 2 * resident("fsdp", "")) << name;
    EXPECT_DOUBLE_EQ(resident(name, "4"), 4 * resident("fsdp", "")) << name;
  }
  PlanWords words = Words();
  words["gpus"] = "16";
  words["shards"] = "3";
  ExpectComplaint(words, "do not divide");
}

// What all QLoRA recipes do is the default, and said; what is stated wins.
TEST(PlanWordsTest, QloraCheckpoints) {
  PlanWords words = Words();
  words["method"] = "qlora";
  const PlannedRun plan = ReadPlan(words).value();
  EXPECT_EQ(plan.run.run.checkpointing, Checkpointing::kWholeLayers);
  EXPECT_EQ(plan.assumed.front(), "checkpointing full (the default of QLoRA recipes; --checkpointing)");
  words["checkpointing"] = "none";
  EXPECT_EQ(ReadPlan(words)->run.run.checkpointing, Checkpointing::kNone);
  words["method"] = "lora";
  words.erase("checkpointing");
  EXPECT_EQ(ReadPlan(words)->run.run.checkpointing, Checkpointing::kNone);
}

// A name may say that its weights are quantised: adapters are trained on it, all weights are not.
TEST(PlanWordsTest, QuantisedCheckpoints) {
  PlanWords words = {{"model", "unsloth/llama-3-8b-bnb-4bit"}, {"seq_len", "512"}};
  EXPECT_EQ(ReadPlan(words)->run.run.method, TuneMethod::kQlora);
  words["method"] = "full";
  ExpectComplaint(words, "is quantised and needs untrained weights");
  ExpectComplaint({{"model", "llama-2-7b-GGUF"}, {"seq_len", "512"}}, "quantised for inference");
}

TEST(PlanWordsTest, NamesWhatIsWrong) {
  const std::pair<std::pair<const char*, const char*>, const char*> wrong[] = {
      {{"gpus", "0"}, "gpus 0 is not above 0"},
      {{"micro_batch", "-2"}, "micro_batch -2 is not above 0"},
      {{"optimizer", "adamv"}, "did you mean adamw?"},
      {{"method", "loar"}, "did you mean lora?"},
      {{"seq_len", "4 k tokens"}, "is not a number"},
      {{"seq_len", "10.5"}, "not a whole number"},
      {{"params", "7"}, "write 7B or 7M"},
      {{"params", "13B"}, "you give 13 B parameters"},
      {{"gpu", "H1000"}, "not in the table of rates"},
      {{"compile", "perhaps"}, "neither yes nor no"},
      {{"modle", "x"}, "unknown key 'modle'; did you mean model?"},
      {{"gpus", "9e99"}, "gpus"},
  };
  for (const auto& [word, part] : wrong) {
    PlanWords words = Words();
    words[word.first] = word.second;
    ExpectComplaint(words, part);
  }
  ExpectComplaint({{"seq_len", "512"}, {"layers", "2"}}, "the model: hidden, heads, vocab, ffn not given");
  ExpectComplaint({{"model", "llama-2-7b"}, {"tp", "3"}, {"gpus", "4"}}, "cannot hold tp x pp");
  ExpectComplaint({{"model", "lama-2-7b"}, {"seq_len", "512"}}, "did you mean llama-2-7b, ");
  ExpectComplaint({{"model", "llama-3.1"}, {"seq_len", "512"}}, "did you mean llama-3.1-8b, ");
  ExpectComplaint({{"model", "mine-8x7b"}, {"layers", "2"}}, "is a mixture of experts by its name");
  ExpectComplaint({{"model", "llama-2-7b"}, {"method", "full"}, {"rank", "8"}}, "belongs to a LoRA");
  ExpectComplaint({{"model", "llama-2-7b"}, {"ep", "2"}, {"gpus", "2"}}, "shares out experts");
  ExpectComplaint({{"model", "llama-2-7b"}, {"optimizer_in_backward", "yes"}, {"accumulation", "4"}}, "accumulation 1");
  ExpectComplaint({{"model", "llama-2-7b"}, {"sharding", "fsdp8 tp2"}, {"gpus", "12"}}, "one of them is wrong");
  ExpectComplaint({{"model", "llama-2-7b"}, {"sharding", "sideways"}}, "'sideways' is not known");
  ExpectComplaint({{"model", "llama-2-7b"}, {"seq_len", "512"}, {"gpu", "H1000"}}, "did you mean H100-80GB-SXM, ");
  ExpectComplaint({{"model", "llama-2-7b"}, {"seq_len", "512"}, {"gpu", "8x H100"}}, "write --gpu 'H100' --gpus 8");
}

TEST(PlanWordsTest, CountsWithUnits) {
  EXPECT_DOUBLE_EQ(*ParseCount("params", "7B"), 7e9);
  EXPECT_DOUBLE_EQ(*ParseCount("params", "1.5 M"), 1.5e6);
  EXPECT_DOUBLE_EQ(*ParseCount("samples", "4k"), 4000);
  EXPECT_DOUBLE_EQ(*ParseCount("seq_len", "4k"), 4096);  // as models are built
  EXPECT_DOUBLE_EQ(*ParseCount("seq_len", "4096"), 4096);
  for (const char* text : {"", "B", "seven", "1e", "nan", "0", "-1"}) EXPECT_FALSE(ParseCount("params", text)) << text;
}

}  // namespace
}  // namespace idleburn
