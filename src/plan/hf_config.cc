#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "plan/plan_files.h"

namespace idleburn {
namespace {

using Json = nlohmann::json;

struct HfKey {
  std::string_view theirs;
  std::string_view ours;
};

// The names that the model families of Hugging Face use; the first that stands in the file counts.
constexpr auto kKeys = std::to_array<HfKey>({
    {"num_hidden_layers", "layers"},
    {"n_layer", "layers"},
    {"n_layers", "layers"},
    {"num_layers", "layers"},
    {"hidden_size", "hidden"},
    {"n_embd", "hidden"},
    {"n_embed", "hidden"},
    {"d_model", "hidden"},
    {"num_attention_heads", "heads"},
    {"n_head", "heads"},
    {"n_heads", "heads"},
    {"num_heads", "heads"},
    {"num_key_value_heads", "kv_heads"},
    {"num_kv_heads", "kv_heads"},
    {"multi_query_group_num", "kv_heads"},
    {"head_dim", "head_dim"},
    {"intermediate_size", "ffn"},
    {"ffn_hidden_size", "ffn"},
    {"n_inner", "ffn"},
    {"ffn_dim", "ffn"},
    {"vocab_size", "vocab"},
    {"padded_vocab_size", "vocab"},
    {"tie_word_embeddings", "tied"},
    {"num_local_experts", "experts"},
    {"num_experts", "experts"},
    {"n_routed_experts", "experts"},
    {"num_experts_per_tok", "experts_per_token"},
    {"moe_intermediate_size", "expert_ffn"},
    {"shared_expert_intermediate_size", "shared_ffn"},
    {"first_k_dense_replace", "dense_layers"},
});

using Families = std::span<const std::string_view>;

// What a family's files leave out because the library that reads them takes it for granted.
struct FamilyDefault {
  std::string_view family;
  std::string_view ours;
  std::string_view value;
};
constexpr auto kDefaults = std::to_array<FamilyDefault>({{"gemma3_text", "heads", "8"},
                                                         {"gemma3_text", "kv_heads", "4"},
                                                         {"gemma3_text", "head_dim", "256"},
                                                         {"gemma3_text", "vocab", "262208"}});

// Families with two-matrix MLPs and LayerNorm; Qwen 1 counts both halves of its gated MLP as one width.
constexpr auto kTwoMatrix =
    std::to_array<std::string_view>({"gpt2", "gpt_neox", "gptj", "gpt_neo", "phi", "falcon", "mpt", "opt", "bloom",
                                     "gpt_bigcode", "starcoder2", "codegen", "nemotron", "persimmon"});
// Whose head is the embedding unless the file says otherwise: it leaves out what its family takes for granted.
constexpr auto kTied = std::to_array<std::string_view>({"gpt2", "gpt_neo", "gpt_bigcode", "opt", "bloom", "falcon",
                                                        "mpt", "gemma", "gemma2", "gemma3", "gemma3_text",
                                                        "gemma3n_text", "cohere", "cohere2", "starcoder2"});
// One key and value head where `multi_query` says so, and where it is not said.
constexpr auto kMultiQuery = std::to_array<std::string_view>({"falcon", "gpt_bigcode"});
// What is no decoder-only transformer.
constexpr auto kEncoders = std::to_array<std::string_view>(
    {"bert",   "roberta",    "xlm-roberta", "distilbert", "electra",  "deberta",  "deberta-v2",
     "albert", "modernbert", "camembert",   "mpnet",      "vit",      "clip",     "siglip",
     "deit",   "beit",       "dinov2",      "swin",       "convnext", "wav2vec2", "hubert"});
constexpr auto kStateSpace = std::to_array<std::string_view>(
    {"mamba", "mamba2", "falcon_mamba", "jamba", "zamba", "zamba2", "bamba", "falcon_h1", "nemotron_h", "rwkv",
     "recurrent_gemma", "granitemoehybrid", "lfm2", "qwen3_next", "plamo2"});
// Parts that are not counted, and what weights are stored in.
constexpr auto kLeftOut =
    std::to_array<std::string_view>({"vision_config", "audio_config", "quantization_config", "kv_lora_rank"});

bool IsOf(Families families, std::string_view family) {
  return std::find(families.begin(), families.end(), family) != families.end();
}

std::string FamilyOf(const Json& config) { return config.value("model_type", std::string()); }

// Why the file's model is none that a plan can be made for; empty if it is one.
std::string WhyNotModelled(const Json& config, const std::string& family) {
  constexpr const char* kKnown = "; plan knows decoder-only transformers";
  const auto encodes = config.find("is_encoder_decoder");
  if (encodes != config.end() && encodes->is_boolean() && encodes->get<bool>()) {
    return "is an encoder with a decoder (" + family + "), which is not modelled" + kKnown;
  }
  if (IsOf(kEncoders, family)) return "is an encoder (" + family + "), which is not modelled" + kKnown;
  bool states = false;
  for (auto item = config.begin(); item != config.end(); ++item) states = states || item.key().starts_with("mamba_");
  if (states || IsOf(kStateSpace, family)) {
    return "has layers of a state-space model (" + family + "), which are not modelled" + kKnown;
  }
  return {};
}

std::string TextOf(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer() || value.is_number_unsigned()) return value.dump();
  return {};
}

std::int64_t CountIn(const Json& config, const char* key) {
  const auto value = config.find(key);
  constexpr std::int64_t kMost = 1'000'000;
  if (value == config.end() || !value->is_number_integer()) return 0;
  return std::clamp<std::int64_t>(value->get<std::int64_t>(), 0, kMost);
}

std::int64_t WordIn(PlanFile& file, const char* key) { return std::stoll("0" + file.words[key]); }

// Experts of families that count them in their own ways.
void DeriveExperts(const Json& config, const std::string& family, PlanFile& file) {
  if (file.words.count("experts") == 0) return;
  if (file.words.count("expert_ffn") == 0) file.words["expert_ffn"] = file.words["ffn"];
  const std::int64_t shared = CountIn(config, "n_shared_experts");
  if (shared > 0) file.words["shared_ffn"] = std::to_string(shared * WordIn(file, "expert_ffn"));
  if (family != "llama4_text") return;
  file.words["shared_ffn"] = file.words["expert_ffn"];  // each layer of experts has one for every token
  const std::int64_t step = CountIn(config, "interleave_moe_layer_step");
  if (step < 2) return;
  const std::int64_t layers = WordIn(file, "layers");
  file.words["dense_layers"] = std::to_string(layers - layers / step);
  file.words["ffn"] = std::to_string(CountIn(config, "intermediate_size_mlp"));
}

void Derive(const Json& config, const std::string& family, PlanFile& file) {
  for (const FamilyDefault& taken : kDefaults) {
    if (taken.family == family) file.words.try_emplace(std::string(taken.ours), taken.value);
  }
  if (IsOf(kTwoMatrix, family)) file.words["gated"] = "no";
  if (IsOf(kTied, family) && file.words.count("tied") == 0) file.words["tied"] = "yes";
  const bool new_falcon = config.value("new_decoder_architecture", Json(false)) == Json(true);
  const bool one = config.value("multi_query", Json(true)) == Json(true) && !new_falcon;
  if (IsOf(kMultiQuery, family) && one) file.words["kv_heads"] = "1";
  if (family == "qwen" && file.words.count("ffn") != 0) file.words["ffn"] = std::to_string(WordIn(file, "ffn") / 2);
  const bool wide = file.words.count("gated") != 0 && file.words.count("ffn") == 0;
  if (wide) file.words["ffn"] = std::to_string(4 * WordIn(file, "hidden"));
  DeriveExperts(config, family, file);
}

}  // namespace

Result<PlanFile> ReadHfConfig(std::string_view text, const std::string& name) {
  const Json whole = Json::parse(text, nullptr, false);
  if (!whole.is_object()) return Fail(name + " is no JSON object; give the model's config.json");
  const auto nested = whole.find("text_config");  // of models that also see
  const Json& config = nested != whole.end() && nested->is_object() ? *nested : whole;
  PlanFile file;
  constexpr std::int64_t kMost = 1'000'000'000;
  for (const HfKey& key : kKeys) {
    const auto value = config.find(key.theirs);
    if (value == config.end() || file.words.count(key.ours) != 0) continue;
    const std::string word = TextOf(*value);
    if (word.empty() || value->is_boolean() != (key.ours == "tied")) continue;
    if (value->is_number() && (value->get<double>() < 0 || value->get<double>() > static_cast<double>(kMost))) {
      return Fail(name + ": " + std::string(key.theirs) + " " + word.substr(0, 20) + " is no size");
    }
    if (word != "0") file.words[std::string(key.ours)] = word;
  }
  for (const Json* part : {&whole, &config}) {
    if (part->contains("model_type") && !part->at("model_type").is_string()) {
      return Fail(name + ": model_type is no text");
    }
  }
  const std::string family = FamilyOf(config);
  for (const Json* part : {&whole, &config}) {  // a text encoder stands in a model that is none of text
    if (const std::string why = WhyNotModelled(*part, FamilyOf(*part)); !why.empty()) return Fail(name + " " + why);
  }
  if (file.words.count("layers") == 0 || file.words.count("hidden") == 0) {
    return Fail(name + " names no num_hidden_layers or hidden_size; it is no config.json of a language model");
  }
  if (const auto tied = whole.find("tie_word_embeddings"); tied != whole.end() && tied->is_boolean()) {
    file.words["tied"] = tied->get<bool>() ? "yes" : "no";  // of a model that also sees it stands outside
  }
  Derive(config, family, file);
  for (const std::string_view left : kLeftOut) {
    if (whole.contains(left) || config.contains(left)) file.unused.emplace_back(left);
  }
  return file;
}

}  // namespace idleburn
