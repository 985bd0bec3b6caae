#include "plan/plan_files.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/plan_words.h"
#include "text/line_reader.h"

namespace idleburn {

// Files as real projects have them. A file that is something else must be refused with a sentence that says what to
// give instead.

namespace {

// Published config.json files, cut to their sizes, against the parameter counts that their authors publish.
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
  EXPECT_EQ(seeing->unused, (std::vector<std::string>{"vision_config"}));
  EXPECT_EQ(seeing->words.at("quantization"), "nf4");
  const Result<PlanFile> tied =
      Read(R"({"tie_word_embeddings":true,"text_config":{"model_type":"llama",)" + text + "}}");
  ASSERT_TRUE(tied);
  EXPECT_EQ(tied->words.at("tied"), "yes");
}

PlanFile Read(const std::string& text, const std::string& name) {
  StringSource in{text, name};
  Result<PlanFile> file = ReadPlanFile(in, name);
  EXPECT_TRUE(file) << file.error().message;
  return file ? std::move(*file) : PlanFile{};
}

void ExpectFailure(const std::string& text, const std::string& name, const char* part) {
  StringSource in{text, name};
  const Result<PlanFile> file = ReadPlanFile(in, name);
  ASSERT_FALSE(file) << text;
  EXPECT_NE(file.error().message.find(part), std::string::npos) << file.error().message;
}

TEST(PlanFilesTest, HuggingFaceConfig) {
  const PlanFile file = Read(
      R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"intermediate_size":14336,"vocab_size":128256,
          "num_attention_heads":32,"num_key_value_heads":8,"tie_word_embeddings":false,"rope_theta":500000.0})",
      "config.json");
  PlanWords words = file.words;
  words["seq_len"] = "8192";
  const Result<PlannedRun> plan = ReadPlan(words);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_NEAR(CountParams(plan->run.facts).total(), 8.03e9, 0.01e9);
}

TEST(PlanFilesTest, OtherFamiliesOfConfig) {
  const PlanFile gpt2 = Read(R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"vocab_size":50257,
                                 "tie_word_embeddings":true})",
                             "config.json");
  EXPECT_EQ(gpt2.words.at("gated"), "no");
  EXPECT_EQ(gpt2.words.at("ffn"), "3072");
  const PlanFile mixtral = Read(R"({"model_type":"mixtral","hidden_size":4096,"num_hidden_layers":32,"vocab_size":32000,
      "intermediate_size":14336,"num_attention_heads":32,"num_key_value_heads":8,"num_local_experts":8,
      "num_experts_per_tok":2})",
                                "config.json");
  PlanWords words = mixtral.words;
  words["seq_len"] = "4096";
  const Result<PlannedRun> plan = ReadPlan(words);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_NEAR(CountParams(plan->run.facts).total(), 46.7e9, 0.1e9);
}

TEST(PlanFilesTest, ConfigsThatAreNone) {
  ExpectFailure("[1,2]", "config.json", "not a JSON object");
  ExpectFailure("{\"a\":", "config.json", "not a JSON object");
  ExpectFailure("{\"architectures\":[\"Unet\"]}", "config.json", "not the config.json of a language model");
  ExpectFailure(R"({"hidden_size":1,"num_hidden_layers":-5})", "config.json", "is not a size");
  ExpectFailure(R"({"model_type":"gpt2","hidden_size":true,"num_hidden_layers":2})", "config.json",
                "not the config.json");
  ExpectFailure(R"({"model_type":7,"hidden_size":64,"num_hidden_layers":2})", "config.json",
                "model_type is not a text");
  ExpectFailure(std::string((1 << 20) + 1, ' '), "config.json", "larger than 1 MiB");
}

TEST(PlanFilesTest, Axolotl) {
  const PlanFile file = Read(
      "base_model: NousResearch/Llama-2-7b-hf\nload_in_4bit: true\nadapter: qlora\nlora_r: 32\nsequence_len: 4096\n"
      "micro_batch_size: 2\ngradient_accumulation_steps: 4\nnum_epochs: 3\noptimizer: paged_adamw_32bit\n"
      "gradient_checkpointing: true\nflash_attention: true\ndatasets:\n  - path: mhenrichsen/alpaca_2k_test\n",
      "qlora.yml");
  EXPECT_EQ(file.words.at("model"), "NousResearch/Llama-2-7b-hf");
  EXPECT_EQ(file.words.at("method"), "qlora");
  EXPECT_EQ(file.words.at("rank"), "32");
  EXPECT_EQ(file.words.at("checkpointing"), "full");
  EXPECT_EQ(file.unused, std::vector<std::string>{"datasets"});
  EXPECT_TRUE(ReadPlan(file.words));
}

TEST(PlanFilesTest, LlamaFactory) {
  const PlanFile file = Read(
      "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nstage: sft\nfinetuning_type: lora\nlora_target: all\n"
      "lora_rank: 8\ncutoff_len: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\n"
      "num_train_epochs: 3.0\nbf16: true\nquantization_bit: 4\ndeepspeed: examples/deepspeed/ds_z3_config.json\n",
      "llama3_lora_sft.yaml");
  EXPECT_EQ(ReadPlan(file.words)->run.run.method, TuneMethod::kQlora);
  EXPECT_EQ(file.words.at("seq_len"), "2048");
  EXPECT_EQ(file.words.at("accumulation"), "8");
  EXPECT_EQ(file.words.at("sharding"), "zero3");
  EXPECT_EQ(file.words.at("checkpointing"), "full");  // its default
  EXPECT_EQ(file.unused, (std::vector<std::string>{"stage", "bf16"}));
}

TEST(PlanFilesTest, Torchtune) {
  const PlanFile file = Read(
      "model:\n  _component_: torchtune.models.llama3_1.lora_llama3_1_8b\n  lora_rank: 8\n  apply_lora_to_mlp: True\n"
      "tokenizer:\n  max_seq_len: 8192\nbatch_size: 2\nepochs: 1\nenable_activation_checkpointing: True\n"
      "optimizer:\n  _component_: torch.optim.AdamW\n  fused: True\ndtype: bf16\ncompile: False\n",
      "8B_lora.yaml");
  const Result<PlannedRun> plan = ReadPlan(file.words);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->run.run.framework, "torchtune");
  EXPECT_EQ(plan->run.run.method, TuneMethod::kLora);
  EXPECT_EQ(plan->run.run.sequence, 8192);
  EXPECT_EQ(plan->run.run.checkpointing, Checkpointing::kWholeLayers);
}

TEST(PlanFilesTest, Trl) {
  const PlanFile file = Read(
      "model_name_or_path: Qwen/Qwen2.5-0.5B\nuse_peft: true\nlora_r: 32\nper_device_train_batch_size: 4\n"
      "max_length: 1024\ngradient_checkpointing: true\nload_in_4bit: false\n",
      "sft.yaml");
  EXPECT_EQ(file.words.at("method"), "lora");
  EXPECT_EQ(file.words.at("seq_len"), "1024");
  EXPECT_TRUE(file.unused.empty());
  EXPECT_TRUE(ReadPlan(file.words));
}

// Configurations as the documentation of each program has its keys: all are plans, and what says nothing is listed.
struct TypicalYaml {
  const char* name;
  const char* text;
  PlanWords words;
  std::vector<std::string> unused;
};

const TypicalYaml kTypical[] = {
    {"axolotl_fft.yml",
     "base_model: meta-llama/Llama-3.2-1B\nbf16: auto\nsequence_len: 8192\nsample_packing: true\n"
     "micro_batch_size: 1\ngradient_accumulation_steps: 8\nnum_epochs: 1\noptimizer: adamw_torch_fused\n"
     "gradient_checkpointing: true\nflash_attention: true\nlearning_rate: 2e-5\nfsdp:\n  - full_shard\n"
     "  - auto_wrap\nfsdp_config:\n  fsdp_offload_params: true\nliger_fused_linear_cross_entropy: true\n",
     {{"model", "meta-llama/Llama-3.2-1B"},
      {"seq_len", "8192"},
      {"micro_batch", "1"},
      {"accumulation", "8"},
      {"epochs", "1"},
      {"optimizer", "adamw_torch_fused"},
      {"checkpointing", "full"},
      {"flash_attention", "yes"},
      {"sharding", "zero3"},
      {"offload", "yes"},
      {"chunked_loss", "fused"}},
     {"bf16", "sample_packing", "learning_rate"}},
    {"axolotl_qlora.yml",
     "base_model: mistralai/Mistral-7B-v0.1\nload_in_4bit: true\nadapter: qlora\nlora_r: 32\nlora_alpha: 16\n"
     "lora_target_linear: true\nsequence_len: 4096\nmicro_batch_size: 2\noptimizer: adamw_bnb_8bit\n",
     {{"model", "mistralai/Mistral-7B-v0.1"},
      {"method", "qlora"},
      {"rank", "32"},
      {"targets", "all"},
      {"seq_len", "4096"},
      {"micro_batch", "2"},
      {"optimizer", "adamw_bnb_8bit"}},
     {"lora_alpha"}},
    {"llama3_full_sft.yaml",
     "model_name_or_path: meta-llama/Meta-Llama-3-8B\nfinetuning_type: full\ndeepspeed: ds_z2_config.json\n"
     "cutoff_len: 2048\nper_device_train_batch_size: 1\nflash_attn: fa2\nenable_liger_kernel: true\n",
     {{"model", "meta-llama/Meta-Llama-3-8B"},
      {"method", "full"},
      {"sharding", "zero2"},
      {"seq_len", "2048"},
      {"micro_batch", "1"},
      {"flash_attention", "yes"},
      {"chunked_loss", "fused"},
      {"checkpointing", "full"}},
     {}},
    {"qwen_lora.yaml",
     "model_name_or_path: Qwen/Qwen2.5-7B\nfinetuning_type: lora\nlora_target: q_proj,v_proj\nlora_rank: 16\n"
     "cutoff_len: 1024\nper_device_train_batch_size: 4\ndisable_gradient_checkpointing: true\ntemplate: qwen\n",
     {{"model", "Qwen/Qwen2.5-7B"},
      {"method", "lora"},
      {"targets", "q_proj,v_proj"},
      {"rank", "16"},
      {"seq_len", "1024"},
      {"micro_batch", "4"},
      {"checkpointing", "none"}},
     {"template"}},
    {"8B_lora.yaml",
     "model:\n  _component_: torchtune.models.llama3_1.qlora_llama3_1_8b\n  lora_attn_modules: [q_proj, v_proj]\n"
     "  apply_lora_to_mlp: True\n  lora_rank: 8\ntokenizer:\n  max_seq_len: 4096\nbatch_size: 2\n"
     "loss:\n  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss\noptimizer:\n"
     "  _component_: bitsandbytes.optim.PagedAdamW8bit\n  lr: 2e-5\ncompile: True\ndtype: bf16\ndevice: cuda\n",
     {{"model", "llama3_1_8b"},
      {"method", "qlora"},
      {"targets", "q_proj,v_proj,gate_proj,up_proj,down_proj"},
      {"rank", "8"},
      {"seq_len", "4096"},
      {"micro_batch", "2"},
      {"chunked_loss", "yes"},
      {"optimizer", "bitsandbytes.optim.PagedAdamW8bit"},
      {"compile", "yes"},
      {"precision", "bf16"},
      {"framework", "torchtune"}},
     {"optimizer.lr", "device"}},
    {"sft.yaml",
     "model_name_or_path: google/gemma-2-2b\nuse_peft: true\nload_in_4bit: true\nlora_r: 16\n"
     "lora_target_modules: all-linear\nmax_length: 2048\nper_device_train_batch_size: 2\ndtype: bfloat16\n"
     "attn_implementation: eager\noptim: adamw_8bit\nuse_liger_kernel: false\npacking: true\n",
     {{"model", "google/gemma-2-2b"},
      {"method", "qlora"},
      {"rank", "16"},
      {"targets", "all"},
      {"seq_len", "2048"},
      {"micro_batch", "2"},
      {"precision", "bf16"},
      {"flash_attention", "no"},
      {"optimizer", "adamw_8bit"}},
     {"packing"}}};

TEST(PlanFilesTest, TypicalConfigurations) {
  for (const TypicalYaml& yaml : kTypical) {
    const PlanFile file = Read(yaml.text, yaml.name);
    EXPECT_EQ(file.words, yaml.words) << yaml.name;
    EXPECT_EQ(file.unused, yaml.unused) << yaml.name;
    const Result<PlannedRun> plan = ReadPlan(file.words);
    EXPECT_TRUE(plan) << yaml.name << ": " << plan.error().message;
  }
}

TEST(PlanFilesTest, YamlThatIsNone) {
  ExpectFailure("- a\n- b\n", "x.yaml", "not a YAML mapping");
  ExpectFailure("a: [1, 2\nb: }", "x.yaml", "x.yaml:");
}

TEST(PlanFilesTest, Toml) {
  const PlanFile file = Read(
      "model = \"mistral-7b\"\nseq_len = 4096\nepochs = 2.5\ncompile = true\n"
      "targets = [\"q_proj\", \"v_proj\"]\n",
      "plan.toml");
  EXPECT_EQ(file.words, (PlanWords{{"model", "mistral-7b"},
                                   {"seq_len", "4096"},
                                   {"epochs", "2.5"},
                                   {"compile", "yes"},
                                   {"targets", "q_proj,v_proj"}}));
  ExpectFailure("model = ", "plan.toml", "plan.toml:1");
  ExpectFailure("[gpu]\nname = 1\n", "plan.toml", "gpu is not a text");
}

// What would change the figures and has no place in a plan is an error or is listed with its value, never left out.
TEST(TrainingYamlTest, WhatCannotBePlannedIsSaid) {
  const auto read = [](const std::string& more) {
    const Result<PlanFile> file =
        ReadTrainingYaml("model_name_or_path: Qwen/Qwen2.5-7B\ncutoff_len: 2048\n" + more, "x.yaml");
    EXPECT_TRUE(file) << more;
    return file ? *file : PlanFile{};
  };
  const auto why = [](const PlanFile& file) {
    const Result<PlannedRun> plan = ReadPlan(file.words);
    return plan ? "" : plan.error().message;
  };
  EXPECT_NE(why(read("finetuning_type: freeze\n")).find("method 'freeze' is not known"), std::string::npos);
  const PlanFile hybrid = read("fsdp: full_shard\nfsdp_config:\n  fsdp_sharding_strategy: HYBRID_SHARD\n");
  EXPECT_EQ(hybrid.words.at("sharding"), "hybrid");
  EXPECT_EQ(why(hybrid), "");
  EXPECT_EQ(read("quantization_bit: 3\n").unused, std::vector<std::string>{"quantization_bit: 3"});
  EXPECT_TRUE(read("quantization_bit: 4\nadapter: null\n").unused.empty());
  for (const char* eight : {"quantization_bit: 8\n", "adapter: lora\nload_in_8bit: true\n"}) {
    const Result<PlannedRun> plan = ReadPlan(read(eight).words);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->run.run.bytes.frozen, 1) << eight;
  }
  const PlanFile offloads = read("deepspeed: examples/deepspeed/ds_z3_offload_config.json\n");
  EXPECT_EQ(offloads.words.at("offload"), "yes");
  EXPECT_EQ(offloads.words.at("sharding"), "zero3");
  EXPECT_EQ(read("deepspeed: ds_z2_config.json\n").words.count("offload"), 0U);
}

}  // namespace

}  // namespace idleburn
