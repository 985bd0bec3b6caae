#include "plan/model_facts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plan/model_table.h"

namespace idleburn {

// Counts of well-known models against what their authors publish, and every row of the table against itself. Facts that
// contradict each other must be named.

namespace {

ModelFacts Known(std::string_view name) {
  const std::optional<ModelFacts> facts = FindModel(name);
  EXPECT_TRUE(facts) << name;
  return facts.value_or(ModelFacts{});
}

// What the models' cards say, and a sum by hand without norms and biases.
TEST(ModelFactsTest, PublishedCounts) {
  EXPECT_NEAR(CountParams(Known("Qwen-7B")).total(), 7.72e9, 0.005e9);
  EXPECT_NEAR(CountParams(Known("Qwen-72B")).total(), 72.28e9, 0.005e9);
  const ParamCounts counts = CountParams(Known("meta-llama/Llama-2-7b-hf"));
  EXPECT_DOUBLE_EQ(counts.total() - counts.other, 6738149376.0);
  EXPECT_DOUBLE_EQ(counts.other, 4096.0 * (2 * 32 + 1));  // two norms a layer, and one at the end
}

// Totals of the models' own cards, which count norms and biases too.
TEST(ModelFactsTest, CountsOfTheTableAgreeWithTheirCards) {
  const std::pair<const char*, double> cards[] = {
      {"llama-3.1-8b", 8.030e9},    {"llama-3.1-70b", 70.55e9}, {"llama-3.1-405b", 405.9e9}, {"llama-3.2-1b", 1.236e9},
      {"llama-3.2-3b", 3.213e9},    {"mistral-7b", 7.242e9},    {"yi-34b", 34.39e9},         {"qwen2.5-7b", 7.616e9},
      {"qwen2.5-0.5b", 0.494e9},    {"qwen2.5-72b", 72.71e9},   {"phi-2", 2.780e9},          {"falcon-7b", 6.922e9},
      {"mixtral-8x7b", 46.70e9},    {"qwen3-30b-a3b", 30.53e9}, {"mpt-7b", 6.649e9},         {"llama-2-70b", 68.98e9},
      {"Qwen3_235B_a22B", 235.1e9}, {"llama-65b", 65.29e9},     {"TinyLlama-1.1B", 1.100e9}, {"mistral-nemo", 12.25e9},
      {"gemma-2b", 2.506e9},        {"gemma-7b", 8.538e9},      {"gemma-2-2b", 2.614e9},     {"gemma-2-9b", 9.242e9},
      {"gemma-2-27b", 27.23e9},     {"phi-3-mini", 3.821e9},    {"phi-4", 14.66e9},          {"qwen3-0.6b", 0.596e9},
      {"qwen3-1.7b", 1.721e9},      {"qwen3-4b", 4.022e9},      {"qwen3-14b", 14.77e9},      {"qwen3-32b", 32.76e9},
      {"gpt2-xl", 1.558e9},         {"gpt-j-6b", 6.051e9},      {"gpt-neox-20b", 20.55e9}};
  for (const auto& [name, params] : cards) {
    EXPECT_NEAR(CountParams(Known(name)).total() / params, 1, 0.01) << name;
  }
}

TEST(ModelFactsTest, EveryRowOfTheTableIsSound) {
  for (const std::string& name : ModelNames()) {
    EXPECT_TRUE(CheckFacts(Known(name))) << name;
  }
}

TEST(ModelFactsTest, KeysAndValues) {
  const double token = KvCacheBytesPerToken(Known("llama-3.1-8b"), 2);
  EXPECT_DOUBLE_EQ(token, 131072);
  EXPECT_DOUBLE_EQ(token * 8192 / (1024.0 * 1024 * 1024), 1);
}

// r x (in + out), summed over the targets: q, o (h, h); gate, up (h, f); down (f, h).
TEST(ModelFactsTest, LoraParameters) {
  const ModelFacts facts = Known("llama-2-7b");
  const LoraTarget q[] = {LoraTarget::kQuery, LoraTarget::kValue};
  EXPECT_DOUBLE_EQ(LoraParams(facts, 8, q), 4194304);  // as the litgpt tables state
  const LoraTarget mlp[] = {LoraTarget::kGate, LoraTarget::kUp, LoraTarget::kDown};
  EXPECT_DOUBLE_EQ(LoraParams(facts, 1, mlp), 32 * 3 * (4096.0 + 11008.0));
  const LoraTarget fused[] = {LoraTarget::kFusedQkv};
  EXPECT_DOUBLE_EQ(LoraParams(facts, 1, fused), 32 * (4096.0 + 3 * 4096.0));
}

TEST(ModelFactsTest, ContradictionsAreNamed) {
  ModelFacts facts = Known("llama-2-7b");
  facts.stated_params = 6'700'000'000;  // 0.6 % off
  EXPECT_TRUE(CheckFacts(facts));
  facts.stated_params = 6'500'000'000;  // 3.7 % off
  const Result<void> wrong = CheckFacts(facts);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("6.74 B"), std::string::npos) << wrong.error().message;
  EXPECT_NE(wrong.error().message.find("6.5 B"), std::string::npos) << wrong.error().message;
}

TEST(ModelFactsTest, MissingAndImpossibleFactsAreNamed) {
  ModelFacts facts;
  facts.name = "mine";
  facts.layers = 32;
  const Result<void> missing = CheckFacts(facts);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("hidden, heads, vocab, ffn not given"), std::string::npos)
      << missing.error().message;
  facts = Known("llama-2-7b");
  facts.layers = -1;
  EXPECT_FALSE(CheckFacts(facts));
  facts = Known("llama-2-7b");
  facts.kv_heads = 7;
  EXPECT_FALSE(CheckFacts(facts));
}

}  // namespace
}  // namespace idleburn
