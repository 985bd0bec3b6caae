#include "plan/model_table.h"

#include <gtest/gtest.h>

namespace idleburn {

// Names as hubs, papers and people write them, and names that must not be taken for another model's.

namespace {

std::string ShapeOfName(std::string_view name) {
  const std::optional<ModelFacts> facts = FindModel(name);
  if (!facts) return "none";
  return std::to_string(facts->layers) + "x" + std::to_string(facts->hidden) + "/" + std::to_string(facts->vocab);
}

TEST(ModelTableTest, FindsHoweverWritten) {
  const std::pair<const char*, const char*> same[] = {
      {"Llama 2 7B", "llama-2-7b"},
      {"meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"},
      {"LLAMA2_7B", "llama-2-7b"},
      {"llama3_1_8b", "llama-3.1-8b"},
      {"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"},
      {"unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "llama-3.1-8b"},
      {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
      {"mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b"},
      {"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "qwen2.5-7b"},
      {"Qwen/Qwen3-4B-Instruct-2507", "qwen3-4b"},
      {"google/gemma-2-9b-it", "gemma-2-9b"},
      {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b"},
      {"deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", "qwen2.5-14b"},
      {"DeepSeek V3 671B", "deepseek-v3"},
      {"Nemotron V3 Super 120B", "nemotron-3-super"},
  };
  for (const auto& [name, known] : same) EXPECT_EQ(ShapeOfName(name), ShapeOfName(known)) << name;
  for (const char* name : {"llama-2", "", "llama-2-8b", "mistral-7b-v0.4", "qwen2-57b", "deepseek-v3-70b"}) {
    EXPECT_FALSE(FindModel(name)) << name;
  }
}

// R1's distill of 1.5 B has a head of its own, so it is not the model that its name suggests.
TEST(ModelTableTest, ADistillIsWhatItsHubSays) {
  EXPECT_TRUE(FindModel("qwen2.5-1.5b")->tied);
  EXPECT_FALSE(FindModel("DeepSeek-R1-Distill-Qwen-1.5B")->tied);
}

TEST(ModelTableTest, NamesSayHowWeightsAreStored) {
  EXPECT_EQ(FormatInName("unsloth/llama-3-8b-bnb-4bit"), NamedFormat::kFourBits);
  EXPECT_EQ(FormatInName("Qwen2.5-7B-Instruct-GPTQ-Int8"), NamedFormat::kEightBits);
  EXPECT_EQ(FormatInName("Llama-2-7B-GPTQ"), NamedFormat::kFourBits);
  EXPECT_EQ(FormatInName("Llama-2-7B-GGUF"), NamedFormat::kInferenceOnly);
  EXPECT_EQ(FormatInName("llama-2-7b"), NamedFormat::kNone);
}

TEST(ModelTableTest, NamesOfMixtures) {
  for (const char* name : {"mine-8x7b", "Qwen9-30B-A3B", "Tiny-MoE", "x-16x1.5b"})
    EXPECT_TRUE(NamesExperts(name)) << name;
  for (const char* name : {"llama-2-7b", "alpha-3b", "gemma-2b", "x1-8b"}) EXPECT_FALSE(NamesExperts(name)) << name;
}

TEST(ModelTableTest, TheNearestAreNamed) {
  EXPECT_EQ(NearestModels("lama-2-7b").front(), "llama-2-7b");
  EXPECT_EQ(NearestModels("llama-3.1").size(), 3U);
  for (const std::string& name : NearestModels("llama-3.1")) EXPECT_EQ(name.rfind("llama-3.1-", 0), 0U) << name;
}

TEST(ModelTableTest, EveryRowIsSound) {
  for (const std::string& name : ModelNames()) {
    const std::optional<ModelFacts> facts = FindModel(name);
    ASSERT_TRUE(facts) << name;
    EXPECT_TRUE(CheckFacts(*facts)) << name;
    // What is no matrix is a small part of a model without a tower.
    EXPECT_GE(facts->other_params, 0) << name;
  }
}

}  // namespace
}  // namespace idleburn
