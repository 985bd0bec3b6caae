// Published config.json files, cut to their sizes, against the parameter counts that their authors publish.
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/plan_files.h"
#include "plan/plan_words.h"

namespace idleburn {
namespace {

Result<PlanFile> Read(const std::string& json) { return ReadHfConfig(json, "config.json"); }

double ParamsOf(const std::string& json) {
  Result<PlanFile> file = Read(json);
  EXPECT_TRUE(file) << file.error().message;
  if (!file) return 0;
  file->words["seq_len"] = "512";
  const Result<PlannedRun> plan = ReadPlan(file->words);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? CountParams(plan->run.facts).total() : 0;
}

struct Published {
  const char* json;
  double params;
};

// Positions, norms and biases are not counted, latent attention is taken for plain, so within 1 %.
constexpr Published kPublished[] = {
    {R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"n_ctx":1024,"n_positions":1024,)"
     R"("vocab_size":50257,"n_inner":null})",
     1.244e+08},
    {R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,)"
     R"("num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256,)"
     R"("tie_word_embeddings":false})",
     8.03e+09},
    {R"({"model_type":"gemma2","hidden_size":3584,"num_hidden_layers":42,"num_attention_heads":16,)"
     R"("num_key_value_heads":8,"head_dim":256,"intermediate_size":14336,"vocab_size":256000,)"
     R"("sliding_window":4096})",
     9.24e+09},
    {R"({"model_type":"gemma","hidden_size":2048,"num_hidden_layers":18,"num_attention_heads":8,)"
     R"("num_key_value_heads":1,"head_dim":256,"intermediate_size":16384,"vocab_size":256000})",
     2.506e+09},
    {R"({"model_type":"mixtral","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,)"
     R"("num_key_value_heads":8,"intermediate_size":14336,"num_local_experts":8,)"
     R"("num_experts_per_tok":2,"vocab_size":32000,"tie_word_embeddings":false})",
     4.67e+10},
    {R"({"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":32,)"
     R"("num_key_value_heads":4,"head_dim":128,"intermediate_size":6144,"moe_intermediate_size":768,)"
     R"("num_experts":128,"num_experts_per_tok":8,"vocab_size":151936,"tie_word_embeddings":false,)"
     R"("decoder_sparse_step":1,"mlp_only_layers":[]})",
     3.053e+10},
    {R"({"model_type":"qwen2_moe","hidden_size":2048,"num_hidden_layers":24,"num_attention_heads":16,)"
     R"("num_key_value_heads":16,"intermediate_size":5632,"moe_intermediate_size":1408,)"
     R"("shared_expert_intermediate_size":5632,"num_experts":60,"num_experts_per_tok":4,)"
     R"("vocab_size":151936,"tie_word_embeddings":false})",
     1.43e+10},
    {R"({"model_type":"deepseek_v3","hidden_size":7168,"num_hidden_layers":61,)"
     R"("num_attention_heads":128,"num_key_value_heads":128,"intermediate_size":18432,)"
     R"("moe_intermediate_size":2048,"n_routed_experts":256,"n_shared_experts":1,)"
     R"("num_experts_per_tok":8,"first_k_dense_replace":3,"vocab_size":129280,"q_lora_rank":1536,)"
     R"("kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,)"
     R"("tie_word_embeddings":false})",
     6.71e+11},
    {R"({"model_type":"mistral","hidden_size":5120,"num_hidden_layers":40,"num_attention_heads":32,)"
     R"("num_key_value_heads":8,"head_dim":128,"intermediate_size":14336,"vocab_size":131072,)"
     R"("tie_word_embeddings":false})",
     1.225e+10},
    {R"({"model_type":"bloom","n_layer":30,"hidden_size":4096,"n_head":32,"vocab_size":250880})", 7.07e+09},
    {R"({"model_type":"opt","hidden_size":2048,"num_hidden_layers":24,"num_attention_heads":32,)"
     R"("ffn_dim":8192,"vocab_size":50272,"word_embed_proj_dim":2048})",
     1.316e+09},
    {R"({"model_type":"falcon","hidden_size":4544,"num_hidden_layers":32,"num_attention_heads":71,)"
     R"("multi_query":true,"vocab_size":65024,"new_decoder_architecture":false})",
     6.92e+09},
    {R"({"model_type":"mpt","d_model":4096,"n_layers":32,"n_heads":32,"expansion_ratio":4,"vocab_size":50432})",
     6.65e+09},
    {R"({"model_type":"gpt_neox","hidden_size":6144,"num_hidden_layers":44,"num_attention_heads":64,)"
     R"("intermediate_size":24576,"vocab_size":50432,"tie_word_embeddings":false})",
     2.055e+10},
    {R"({"model_type":"phi3","hidden_size":3072,"num_hidden_layers":32,"num_attention_heads":32,)"
     R"("num_key_value_heads":32,"intermediate_size":8192,"vocab_size":32064,)"
     R"("tie_word_embeddings":false})",
     3.82e+09},
    {R"({"model_type":"gpt_bigcode","n_embd":6144,"n_layer":40,"n_head":48,"n_inner":24576,)"
     R"("multi_query":true,"vocab_size":49152})",
     1.55e+10},
    {R"({"model_type":"chatglm","hidden_size":4096,"num_layers":28,"num_attention_heads":32,)"
     R"("multi_query_group_num":2,"multi_query_attention":true,"ffn_hidden_size":13696,)"
     R"("padded_vocab_size":65024})",
     6.24e+09},
    {R"({"model_type":"starcoder2","hidden_size":3072,"num_hidden_layers":30,"num_attention_heads":24,)"
     R"("num_key_value_heads":2,"intermediate_size":12288,"vocab_size":49152})",
     3.03e+09},
    {R"({"model_type":"gpt_oss","hidden_size":2880,"num_hidden_layers":24,"num_attention_heads":64,)"
     R"("num_key_value_heads":8,"head_dim":64,"intermediate_size":2880,"num_local_experts":32,)"
     R"("num_experts_per_tok":4,"vocab_size":201088,"tie_word_embeddings":false,"sliding_window":128})",
     2.091e+10},
    {R"({"model_type":"cohere","hidden_size":8192,"num_hidden_layers":40,"num_attention_heads":64,)"
     R"("num_key_value_heads":64,"intermediate_size":22528,"vocab_size":256000})",
     3.498e+10},
    {R"({"model_type":"olmo2","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,)"
     R"("num_key_value_heads":32,"intermediate_size":11008,"vocab_size":100352,)"
     R"("tie_word_embeddings":false})",
     7.3e+09},
    {R"({"model_type":"llama4","text_config":{"model_type":"llama4_text","hidden_size":5120,)"
     R"("num_hidden_layers":48,"num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,)"
     R"("intermediate_size":8192,"intermediate_size_mlp":16384,"num_local_experts":16,)"
     R"("num_experts_per_tok":1,"vocab_size":202048,"interleave_moe_layer_step":1}})",
     1.078e+11},
    {R"({"model_type":"gemma3","text_config":{"model_type":"gemma3_text","hidden_size":2560,)"
     R"("intermediate_size":10240,"num_hidden_layers":34,"num_attention_heads":8,)"
     R"("num_key_value_heads":4,"head_dim":256,"vocab_size":262208,"sliding_window":1024},)"
     R"("vision_config":{}})",
     3.88e+09},
    // As they stand on the hub: what the library takes for granted is left out.
    {R"({"model_type":"gemma3","text_config":{"model_type":"gemma3_text","hidden_size":2560,)"
     R"("intermediate_size":10240,"num_hidden_layers":34,"sliding_window":1024},"vision_config":{}})",
     3.88e+09},
    {R"({"model_type":"bloom","n_embed":14336,"n_layer":70,"num_attention_heads":112,"vocab_size":250880})",
     1.7625e+11},
    {R"({"model_type":"qwen2","hidden_size":896,"num_hidden_layers":24,"num_attention_heads":14,)"
     R"("num_key_value_heads":2,"intermediate_size":4864,"vocab_size":151936,)"
     R"("tie_word_embeddings":true})",
     4.94e+08}};

TEST(HfConfigTest, CountsWhatTheAuthorsPublish) {
  for (const Published& model : kPublished) {
    EXPECT_NEAR(ParamsOf(model.json) / model.params, 1, 0.01) << model.json;
  }
}

TEST(HfConfigTest, WhatIsNoDecoderIsRefused) {
  const std::pair<const char*, const char*> refused[] = {
      {R"({"model_type":"t5","d_model":768,"d_ff":3072,"num_layers":12,"num_heads":12,"vocab_size":32128,)"
       R"("is_encoder_decoder":true})",
       "an encoder with a decoder (t5)"},
      {R"({"model_type":"bert","hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,)"
       R"("intermediate_size":3072,"vocab_size":30522})",
       "an encoder (bert)"},
      {R"({"model_type":"dinov2","hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12})",
       "an encoder (dinov2)"},
      {R"({"model_type":"clip","text_config":{"model_type":"clip_text_model","hidden_size":512,)"
       R"("num_hidden_layers":12,"num_attention_heads":8,"intermediate_size":2048,"vocab_size":49408}})",
       "an encoder (clip)"},
      {R"({"model_type":"mamba","hidden_size":2560,"num_hidden_layers":64,"state_size":16,"vocab_size":50280})",
       "state-space model (mamba)"},
      {R"({"model_type":"new","hidden_size":2048,"num_hidden_layers":24,"num_attention_heads":8,)"
       R"("intermediate_size":4096,"vocab_size":65536,"mamba_d_ssm":3072})",
       "state-space model (new)"}};
  for (const auto& [json, why] : refused) {
    const Result<PlanFile> file = Read(json);
    ASSERT_FALSE(file) << json;
    EXPECT_NE(file.error().message.find(why), std::string::npos) << file.error().message;
  }
}

// What the count leaves out, and what weights are stored in, is said.
TEST(HfConfigTest, WhatIsLeftOutIsListed) {
  const std::string text = R"("num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,)"
                           R"("intermediate_size":11008,"vocab_size":32064)";
  const Result<PlanFile> seeing = Read(R"({"model_type":"llava","text_config":{"model_type":"llama",)" + text +
                                       R"(},"vision_config":{"hidden_size":1024},"quantization_config":{"bits":4}})");
  ASSERT_TRUE(seeing);
  EXPECT_EQ(seeing->unused, (std::vector<std::string>{"vision_config", "quantization_config"}));
  const Result<PlanFile> tied =
      Read(R"({"tie_word_embeddings":true,"text_config":{"model_type":"llama",)" + text + "}}");
  ASSERT_TRUE(tied);
  EXPECT_EQ(tied->words.at("tied"), "yes");
}

}  // namespace
}  // namespace idleburn
