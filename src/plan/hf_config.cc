#include <array>
#include <nlohmann/json.hpp>

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
    {"d_model", "hidden"},
    {"num_attention_heads", "heads"},
    {"n_head", "heads"},
    {"n_heads", "heads"},
    {"num_key_value_heads", "kv_heads"},
    {"num_kv_heads", "kv_heads"},
    {"multi_query_group_num", "kv_heads"},
    {"head_dim", "head_dim"},
    {"intermediate_size", "ffn"},
    {"ffn_hidden_size", "ffn"},
    {"n_inner", "ffn"},
    {"vocab_size", "vocab"},
    {"padded_vocab_size", "vocab"},
    {"tie_word_embeddings", "tied"},
    {"num_local_experts", "experts"},
    {"num_experts", "experts"},
    {"n_routed_experts", "experts"},
    {"num_experts_per_tok", "experts_per_token"},
    {"moe_intermediate_size", "expert_ffn"},
    {"first_k_dense_replace", "dense_layers"},
});

// Families with two-matrix MLPs and LayerNorm; Qwen 1 counts both halves of its gated MLP as one width.
constexpr auto kTwoMatrix = std::to_array<std::string_view>(
    {"gpt2", "gpt_neox", "gptj", "gpt_neo", "phi", "falcon", "mpt", "opt", "bloom", "gpt_bigcode", "starcoder2"});

std::string TextOf(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer() || value.is_number_unsigned()) return value.dump();
  return {};
}

void Derive(const Json& config, PlanFile& file) {
  const std::string family = config.value("model_type", std::string());
  for (const std::string_view two : kTwoMatrix) {
    if (family == two) file.words["gated"] = "no";
  }
  if (family == "qwen" && file.words.count("ffn") != 0) {
    file.words["ffn"] = std::to_string(std::stoll(file.words["ffn"]) / 2);
  }
  const bool wide = file.words["gated"] == "no" && file.words.count("ffn") == 0 && file.words.count("hidden") != 0;
  if (wide) file.words["ffn"] = std::to_string(4 * std::stoll(file.words["hidden"]));
  if (file.words["gated"].empty()) file.words.erase("gated");
  if (file.words.count("experts") != 0 && file.words.count("expert_ffn") == 0)
    file.words["expert_ffn"] = file.words["ffn"];
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
  if (file.words.count("layers") == 0 || file.words.count("hidden") == 0) {
    return Fail(name + " names no num_hidden_layers or hidden_size; it is no config.json of a language model");
  }
  if (config.contains("model_type") && !config["model_type"].is_string()) return Fail(name + ": model_type is no text");
  Derive(config, file);
  return file;
}

}  // namespace idleburn
