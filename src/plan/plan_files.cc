#include "plan/plan_files.h"

#include <toml++/toml.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Three kinds of file, one result. A config.json describes a model only, a training YAML both model and run, and a plan
// in TOML says everything in our own words. Reading the first two is best effort by nature, because their programs
// change; so unknown keys are listed instead of refused.

namespace {

// Of a config.json.
using Json = nlohmann::json;

// A key of a config.json and the word of a plan for it.
struct HfKey {
  std::string_view theirs;
  std::string_view ours;
};

// Names that the model families of Hugging Face use. The first one in the file counts.
constexpr auto kHfKeys = std::to_array<HfKey>({
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
    {"moe_num_experts", "experts"},
    {"num_experts_per_tok", "experts_per_token"},
    {"num_experts_per_token", "experts_per_token"},
    {"moe_topk", "experts_per_token"},
    {"moe_k", "experts_per_token"},
    {"moe_intermediate_size", "expert_ffn"},
    {"shared_expert_intermediate_size", "shared_ffn"},
    {"first_k_dense_replace", "dense_layers"},
});

// Values of model_type.
using Families = std::span<const std::string_view>;

// A value that a family's files leave out, because the library that reads them takes it for granted.
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
constexpr auto kTwoMatrixFamilies =
    std::to_array<std::string_view>({"gpt2", "gpt_neox", "gptj", "gpt_neo", "phi", "falcon", "mpt", "opt", "bloom",
                                     "gpt_bigcode", "starcoder2", "codegen", "nemotron", "persimmon"});
// Families whose head is the embedding unless the file says otherwise.
constexpr auto kTiedFamilies = std::to_array<std::string_view>(
    {"gpt2", "gpt_neo", "gpt_bigcode", "opt", "bloom", "falcon", "mpt", "gemma", "gemma2", "gemma3", "gemma3_text",
     "gemma3n_text", "cohere", "cohere2", "starcoder2"});
// Families with one key and value head, if `multi_query` says so or is not there.
constexpr auto kMultiQuery = std::to_array<std::string_view>({"falcon", "gpt_bigcode"});
// Families that are no decoder-only transformers.
constexpr auto kEncoders = std::to_array<std::string_view>(
    {"bert",   "roberta",    "xlm-roberta", "distilbert", "electra",  "deberta",  "deberta-v2",
     "albert", "modernbert", "camembert",   "mpnet",      "vit",      "clip",     "siglip",
     "deit",   "beit",       "dinov2",      "swin",       "convnext", "wav2vec2", "hubert"});
constexpr auto kStateSpace = std::to_array<std::string_view>(
    {"mamba", "mamba2", "falcon_mamba", "jamba", "zamba", "zamba2", "bamba", "falcon_h1", "nemotron_h", "rwkv",
     "recurrent_gemma", "granitemoehybrid", "lfm2", "qwen3_next", "plamo2"});
// Keys of parts that are not counted, and of what weights are stored in.
constexpr auto kLeftOut = std::to_array<std::string_view>({"vision_config", "audio_config"});

// Whether the family is in the list.
bool IsOf(Families families, std::string_view family) {
  return std::find(families.begin(), families.end(), family) != families.end();
}

// The model_type; empty where there is none.
std::string FamilyOf(const Json& config) { return config.value("model_type", std::string()); }

// Why no plan can be made for the file's model. Empty if one can.
std::string WhyNotModelled(const Json& config, const std::string& family) {
  constexpr const char* kKnown = "; plan knows decoder-only transformers";
  const auto encodes = config.find("is_encoder_decoder");
  if (encodes != config.end() && encodes->is_boolean() && encodes->get<bool>()) {
    return "is an encoder with a decoder (" + family + "), which is not modelled" + kKnown;
  }
  if (IsOf(kEncoders, family)) return "is an encoder (" + family + "), which is not modelled" + kKnown;
  bool states = false;
  for (auto item = config.begin(); item != config.end(); ++item) states = states || item.key().starts_with("mamba_");
  // New families are known by their keys before they are known by name.
  if (states || IsOf(kStateSpace, family)) {
    return "has layers of a state-space model (" + family + "), which are not modelled" + kKnown;
  }
  return {};
}

// A switch or a whole number as a plan's word; empty for anything else.
std::string JsonWord(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer() || value.is_number_unsigned()) return value.dump();
  return {};
}

// A count that the file states, kept within what can be multiplied; 0 where it is none.
std::int64_t StatedCount(const Json& config, const char* key) {
  const auto value = config.find(key);
  constexpr std::int64_t kMost = 1'000'000;
  if (value == config.end() || !value->is_number_integer()) return 0;
  return std::clamp<std::int64_t>(value->get<std::int64_t>(), 0, kMost);
}

// A word that was already taken over, as a number; 0 where there is none.
std::int64_t WordIn(PlanFile& file, const char* key) { return std::stoll("0" + file.words[key]); }

// Fills in experts of families that count them in their own ways.
void DeriveExperts(const Json& config, const std::string& family, PlanFile& file) {
  // A model without experts has nothing to derive here.
  if (file.words.count("experts") == 0) return;
  if (file.words.count("expert_ffn") == 0) file.words["expert_ffn"] = file.words["ffn"];
  const std::int64_t shared = StatedCount(config, "n_shared_experts");
  if (shared > 0) file.words["shared_ffn"] = std::to_string(shared * WordIn(file, "expert_ffn"));
  if (family != "llama4_text") return;
  file.words["shared_ffn"] = file.words["expert_ffn"];  // each layer of experts has one for every token
  // Llama 4 has experts in every so many layers; the others have an MLP of their own width.
  const std::int64_t step = StatedCount(config, "interleave_moe_layer_step");
  if (step < 2) return;
  const std::int64_t layers = WordIn(file, "layers");
  file.words["dense_layers"] = std::to_string(layers - layers / step);
  file.words["ffn"] = std::to_string(StatedCount(config, "intermediate_size_mlp"));
}

// Families whose positions are learned: one vector for each.
constexpr auto kLearnedPositions = std::to_array<std::string_view>({"gpt2", "gpt_neo", "gpt_bigcode", "opt"});

// Counts what no matrix accounts for: norms of every layer and the last one, and learned positions.
void DeriveOthers(const Json& config, const std::string& family, PlanFile& file) {
  const std::int64_t hidden = WordIn(file, "hidden");
  const std::int64_t norm = file.words.count("gated") != 0 && file.words["gated"] == "no" ? 2 * hidden : hidden;
  std::int64_t positions = 0;
  if (IsOf(kLearnedPositions, family)) {
    positions = std::max(StatedCount(config, "n_positions"), StatedCount(config, "max_position_embeddings"));
  }
  const std::int64_t others = norm * (2 * WordIn(file, "layers") + 1) + positions * hidden;
  if (others > 0) file.words["other_params"] = std::to_string(others);
}

// Latent attention: queries and keys in low rank, heads of a part without and a part with positions.
void DeriveLatentAttention(const Json& config, PlanFile& file) {
  // Sizes beyond any model's are cut, so that their products can be counted.
  const auto size = [&](const char* key) { return std::min<std::int64_t>(StatedCount(config, key), 100'000); };
  const std::int64_t kv_rank = size("kv_lora_rank");
  if (kv_rank == 0) return;
  const std::int64_t h = size("hidden_size");
  const std::int64_t heads = size("num_attention_heads");
  const std::int64_t q_rank = size("q_lora_rank");
  const std::int64_t plain = size("qk_nope_head_dim");
  const std::int64_t turned = size("qk_rope_head_dim");
  const std::int64_t value = size("v_head_dim");
  const std::int64_t query = heads * (plain + turned);
  const std::int64_t queries = q_rank > 0 ? h * q_rank + q_rank * query : h * query;
  const std::int64_t all = queries + h * (kv_rank + turned) + kv_rank * heads * (plain + value) + heads * value * h;
  file.words["attention_params"] = std::to_string(all);
  file.words["cache_width"] = std::to_string(kv_rank + turned);
  file.words["head_dim"] = std::to_string((plain + turned + value) / 2);
  file.words["kv_heads"] = file.words["heads"];
}

// Weights that the file says are quantised. Formats of 16-bit checkpoints on disk alone are listed as not used.
void DeriveQuantization(const Json& config, PlanFile& file) {
  const auto found = config.find("quantization_config");
  if (found == config.end() || !found->is_object()) return;
  const bool four = found->value("load_in_4bit", Json(false)) == Json(true) || StatedCount(*found, "bits") == 4;
  const bool eight = found->value("load_in_8bit", Json(false)) == Json(true) || StatedCount(*found, "bits") == 8;
  if (four || eight) {
    file.words["quantization"] = four ? "nf4" : "int8";
  } else {
    file.unused.emplace_back("quantization_config");
  }
}

// A key that names experts in a way that no plan knows. Empty where there is none: such a model must not be planned as
// a dense one.
std::string UnknownExperts(const Json& config, PlanFile& file) {
  if (file.words.count("experts") != 0) return {};
  for (auto item = config.begin(); item != config.end(); ++item) {
    const std::string key = Lower(item.key());
    const bool experts = key.find("expert") != std::string::npos || key.starts_with("moe_") || key == "moe";
    const bool several = item->is_number_integer() && item->get<std::int64_t>() > 1;
    if (experts && (several || (item->is_object() && !item->empty()))) return item.key();
  }
  const auto nested = config.find("ffn_config");
  return nested != config.end() && nested->is_object() && StatedCount(*nested, "moe_num_experts") > 1 ? "ffn_config"
                                                                                                      : "";
}

// Fills in what the family's files leave unsaid.
void Derive(const Json& config, const std::string& family, PlanFile& file) {
  for (const FamilyDefault& taken : kDefaults) {
    if (taken.family == family) file.words.try_emplace(std::string(taken.ours), taken.value);
  }
  if (IsOf(kTwoMatrixFamilies, family)) file.words["gated"] = "no";
  if (IsOf(kTiedFamilies, family) && file.words.count("tied") == 0) file.words["tied"] = "yes";
  // Falcon has one key and value head in its old design, and several in its new one.
  const bool new_falcon = config.value("new_decoder_architecture", Json(false)) == Json(true);
  const bool one = config.value("multi_query", Json(true)) == Json(true) && !new_falcon;
  if (IsOf(kMultiQuery, family) && one) file.words["kv_heads"] = "1";
  // Qwen 1 counts both halves of its gated MLP as one width.
  if (family == "qwen" && file.words.count("ffn") != 0) file.words["ffn"] = std::to_string(WordIn(file, "ffn") / 2);
  // Without a width a two-matrix MLP is four times as wide as the model.
  const bool wide = file.words.count("gated") != 0 && file.words.count("ffn") == 0;
  if (wide) file.words["ffn"] = std::to_string(4 * WordIn(file, "hidden"));
  DeriveExperts(config, family, file);
  DeriveLatentAttention(config, file);
  DeriveOthers(config, family, file);
}

}  // namespace

Result<PlanFile> ReadHfConfig(std::string_view text, const std::string& name) {
  const Json whole = Json::parse(text, nullptr, false);
  if (!whole.is_object()) return Fail(name + " is not a JSON object; give the model's config.json");
  const auto nested = whole.find("text_config");  // of models that also see
  const Json& config = nested != whole.end() && nested->is_object() ? *nested : whole;
  PlanFile file;
  constexpr std::int64_t kMost = 1'000'000'000;
  for (const HfKey& key : kHfKeys) {
    const auto value = config.find(key.theirs);
    if (value == config.end() || file.words.count(key.ours) != 0) continue;
    const std::string word = JsonWord(*value);
    if (word.empty() || value->is_boolean() != (key.ours == "tied")) continue;
    if (value->is_number() && (value->get<double>() < 0 || value->get<double>() > static_cast<double>(kMost))) {
      return Fail(name + ": " + std::string(key.theirs) + " " + word.substr(0, 20) + " is not a size");
    }
    // A 0 stands for "not used" in such files.
    if (word != "0") file.words[std::string(key.ours)] = word;
  }
  for (const Json* part : {&whole, &config}) {
    if (part->contains("model_type") && !part->at("model_type").is_string()) {
      return Fail(name + ": model_type is not a text");
    }
  }
  const std::string family = FamilyOf(config);
  for (const Json* part : {&whole, &config}) {  // a text encoder stands in a model that is none of text
    if (const std::string why = WhyNotModelled(*part, FamilyOf(*part)); !why.empty()) return Fail(name + " " + why);
  }
  if (file.words.count("layers") == 0 || file.words.count("hidden") == 0) {
    return Fail(name + " names no num_hidden_layers or hidden_size; it is not the config.json of a language model");
  }
  if (const auto tied = whole.find("tie_word_embeddings"); tied != whole.end() && tied->is_boolean()) {
    file.words["tied"] = tied->get<bool>() ? "yes" : "no";  // of a model that also sees it stands outside
  }
  Derive(config, family, file);
  if (const std::string key = UnknownExperts(config, file); !key.empty()) {
    return Fail(name + " names experts by a key that plan does not know (" + key.substr(0, 40) +
                "); give --experts, --experts-per-token and --expert-ffn with the other sizes");
  }
  DeriveQuantization(whole, file);
  for (const std::string_view left : kLeftOut) {
    if (whole.contains(left) || config.contains(left)) file.unused.emplace_back(left);
  }
  return file;
}

namespace {

// Configurations are a few levels deep; a file that is deeper, or has more keys, is read no further.
constexpr int kMostDepth = 16;
constexpr std::size_t kMostKeys = 10'000;

// Nested keys joined by dots: {"model._component_", "torchtune..."}.
using FlatKeys = std::vector<std::pair<std::string, std::string>>;  // dotted key, scalar or comma-joined list

// The scalars of a list with commas between them.
std::string Joined(const YAML::Node& list) {
  std::string text;
  for (const YAML::Node& item : list) {
    if (item.IsScalar()) text += (text.empty() ? "" : ",") + item.Scalar();
  }
  return text;
}

// Walks a mapping and appends every scalar and list in it.
void Flatten(const YAML::Node& node, const std::string& prefix, int depth, FlatKeys& out) {
  if (depth > kMostDepth || out.size() > kMostKeys) return;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) continue;
    const std::string key = prefix.empty() ? entry.first.Scalar() : prefix + "." + entry.first.Scalar();
    if (entry.second.IsMap()) {
      Flatten(entry.second, key, depth + 1, out);
    } else if (entry.second.IsSequence()) {
      out.emplace_back(key, Joined(entry.second));
    } else if (entry.second.IsScalar()) {
      out.emplace_back(key, entry.second.Scalar());
    }
  }
}

// How a value of a training program becomes a word of a plan.
enum class Meaning {
  kAsIs,
  kModelName,   // a path or a component: the part that names a model
  kMethod,      // an adapter's or a method's name
  kFourBit,     // a switch
  kEightBit,    // a switch
  kBits,        // 4 or 8
  kAdapter,     // a switch: an adapter is trained
  kFullSwitch,  // a switch: checkpointing full
  kFlash,       // a switch or the name of an implementation
  kSharding,    // present: sharded
  kOffloads,    // the name of a configuration that may offload
  kBf16,        // a switch
  kTargets,     // a list, or all linear layers
  kAllTargets,  // a switch: of all linear layers
  kMlpTargets,  // a switch: of the MLP too
  kSwitch,
  kChunkedLoss,  // the name of a loss
  kFusedLoss,    // a switch
  kNoneStored,   // a switch: checkpointing none
};

// A key of a training program, the word of a plan for it, and how its value is translated.
struct YamlKey {
  std::string_view theirs;
  std::string_view ours;
  Meaning meaning;
};

// Keys of axolotl, LLaMA-Factory, torchtune and TRL.
constexpr auto kYamlKeys = std::to_array<YamlKey>({
    {"base_model", "model", Meaning::kModelName},
    {"model_name_or_path", "model", Meaning::kModelName},
    {"model._component_", "model", Meaning::kModelName},
    {"adapter", "method", Meaning::kMethod},
    {"finetuning_type", "method", Meaning::kMethod},
    {"use_peft", "method", Meaning::kAdapter},
    {"load_in_4bit", "method", Meaning::kFourBit},
    {"load_in_8bit", "quantization", Meaning::kEightBit},
    {"quantization_bit", "quantization", Meaning::kBits},
    {"lora_r", "rank", Meaning::kAsIs},
    {"lora_rank", "rank", Meaning::kAsIs},
    {"model.lora_rank", "rank", Meaning::kAsIs},
    {"lora_target_modules", "targets", Meaning::kTargets},
    {"lora_target", "targets", Meaning::kTargets},
    {"lora_target_linear", "targets", Meaning::kAllTargets},
    {"model.lora_attn_modules", "targets", Meaning::kTargets},
    {"model.apply_lora_to_mlp", "targets", Meaning::kMlpTargets},
    {"sequence_len", "seq_len", Meaning::kAsIs},
    {"cutoff_len", "seq_len", Meaning::kAsIs},
    {"max_seq_length", "seq_len", Meaning::kAsIs},
    {"max_length", "seq_len", Meaning::kAsIs},
    {"tokenizer.max_seq_len", "seq_len", Meaning::kAsIs},
    {"micro_batch_size", "micro_batch", Meaning::kAsIs},
    {"per_device_train_batch_size", "micro_batch", Meaning::kAsIs},
    {"batch_size", "micro_batch", Meaning::kAsIs},
    {"gradient_accumulation_steps", "accumulation", Meaning::kAsIs},
    {"num_epochs", "epochs", Meaning::kAsIs},
    {"num_train_epochs", "epochs", Meaning::kAsIs},
    {"epochs", "epochs", Meaning::kAsIs},
    {"optimizer", "optimizer", Meaning::kAsIs},
    {"optim", "optimizer", Meaning::kAsIs},
    {"optimizer._component_", "optimizer", Meaning::kAsIs},
    {"gradient_checkpointing", "checkpointing", Meaning::kFullSwitch},
    {"enable_activation_checkpointing", "checkpointing", Meaning::kFullSwitch},
    {"disable_gradient_checkpointing", "checkpointing", Meaning::kNoneStored},
    {"flash_attention", "flash_attention", Meaning::kFlash},
    {"flash_attn", "flash_attention", Meaning::kFlash},
    {"attn_implementation", "flash_attention", Meaning::kFlash},
    {"fsdp", "sharding", Meaning::kSharding},
    {"deepspeed", "sharding", Meaning::kSharding},
    {"fsdp_config.sharding_strategy", "sharding", Meaning::kSharding},
    {"fsdp_config.fsdp_sharding_strategy", "sharding", Meaning::kSharding},
    {"fsdp", "offload", Meaning::kOffloads},
    {"deepspeed", "offload", Meaning::kOffloads},
    {"fsdp_config.offload_params", "offload", Meaning::kSwitch},
    {"fsdp_config.fsdp_offload_params", "offload", Meaning::kSwitch},
    {"fsdp_cpu_offload", "offload", Meaning::kSwitch},
    {"optimizer_in_bwd", "optimizer_in_backward", Meaning::kSwitch},
    {"enable_activation_offloading", "offload_activations", Meaning::kSwitch},
    {"activation_offloading", "offload_activations", Meaning::kSwitch},
    {"context_parallel_size", "cp", Meaning::kAsIs},
    {"context_parallel_dim", "cp", Meaning::kAsIs},
    {"pipeline_parallel_size", "pp", Meaning::kAsIs},
    {"expert_parallel_size", "ep", Meaning::kAsIs},
    {"tensor_parallel_size", "tp", Meaning::kAsIs},
    {"tensor_parallel_dim", "tp", Meaning::kAsIs},
    {"torch_compile", "compile", Meaning::kSwitch},
    {"compile", "compile", Meaning::kSwitch},
    {"loss._component_", "chunked_loss", Meaning::kChunkedLoss},
    {"use_liger_kernel", "chunked_loss", Meaning::kFusedLoss},
    {"enable_liger_kernel", "chunked_loss", Meaning::kFusedLoss},
    {"liger_fused_linear_cross_entropy", "chunked_loss", Meaning::kFusedLoss},
    {"cut_cross_entropy", "chunked_loss", Meaning::kFusedLoss},
    {"dtype", "precision", Meaning::kBf16},
    {"torch_dtype", "precision", Meaning::kBf16},
});

// YAML has several words for true.
bool IsYes(std::string_view text) {
  return EqualsIgnoreCase(text, "true") || EqualsIgnoreCase(text, "yes") || EqualsIgnoreCase(text, "on") || text == "1";
}

// Whether the value stands for "not set".
bool IsNothing(std::string_view text) {
  return text.empty() || text == "~" || EqualsIgnoreCase(text, "null") || EqualsIgnoreCase(text, "none") ||
         EqualsIgnoreCase(text, "false") || EqualsIgnoreCase(text, "no") || EqualsIgnoreCase(text, "off") ||
         text == "0";
}

// Lists a key that was not used, each one once.
void Unused(PlanFile& file, std::string what) {
  constexpr std::size_t kMost = 60;
  if (what.size() > kMost) what.resize(kMost);
  if (std::find(file.unused.begin(), file.unused.end(), what) == file.unused.end()) file.unused.push_back(what);
}

// The part of a component's name that names the model: "torchtune.models.llama3_1.lora_llama3_1_8b" gives
// "llama3_1_8b".
std::string ModelIn(const std::string& text) {
  if (text.find('/') != std::string::npos) return text;
  std::string last = text.substr(
      text.rfind('.') == std::string::npos || text.find("models.") == std::string::npos ? 0 : text.rfind('.') + 1);
  for (const std::string_view prefix : {"qlora_", "lora_"}) {
    if (last.compare(0, prefix.size(), prefix) == 0) return last.substr(prefix.size());
  }
  return last;
}

// A value in the words of a plan. Empty if it says nothing that a plan needs.
std::string Translated(Meaning meaning, const std::string& text) {
  switch (meaning) {
    case Meaning::kAsIs:
      return text;
    case Meaning::kModelName:
      return ModelIn(text);
    case Meaning::kMethod:
      return IsNothing(text) ? "" : text;  // a plan says which it does not know
    case Meaning::kFourBit:
      return IsYes(text) ? "qlora" : "";
    case Meaning::kEightBit:
      return IsYes(text) ? "int8" : "";
    case Meaning::kBits:
      return text == "4" ? "nf4" : text == "8" ? "int8" : "";
    case Meaning::kAdapter:
      return IsYes(text) ? "lora" : "";
    case Meaning::kFullSwitch:
      return text == "unsloth" ? "unsloth" : IsYes(text) ? "full" : "none";
    case Meaning::kFlash:
      return EqualsIgnoreCase(text, "eager") || EqualsIgnoreCase(text, "disabled") || EqualsIgnoreCase(text, "false")
                 ? "no"
                 : "yes";
    case Meaning::kSharding:
      if (text.find("zero1") != std::string::npos || text.find("z1") != std::string::npos) return "zero1";
      if (text.find("zero2") != std::string::npos || text.find("z2") != std::string::npos) return "zero2";
      if (text.find("HYBRID") != std::string::npos || text.find("hybrid") != std::string::npos) return "hybrid";
      if (EqualsIgnoreCase(text, "no_shard")) return "none";
      if (EqualsIgnoreCase(text, "shard_grad_op")) return "gathered";
      return text.empty() || EqualsIgnoreCase(text, "false") ? "" : "zero3";
    case Meaning::kOffloads:
      return text.find("offload") != std::string::npos ? "yes" : "";
    case Meaning::kBf16:
      if (text == "bfloat16" || text == "bf16") return "bf16";
      return text == "float32" || text == "fp32" ? "fp32" : "";
    case Meaning::kTargets:
      return text == "all-linear" || text == "all_linear" ? "all" : text;
    case Meaning::kAllTargets:
      return IsYes(text) ? "all" : "";
    case Meaning::kMlpTargets:
      return IsYes(text) ? "gate_proj,up_proj,down_proj" : "";
    case Meaning::kSwitch:
      return IsYes(text) ? "yes" : "no";
    case Meaning::kChunkedLoss:
      if (text.find("LinearCross") != std::string::npos) return "fused";
      return IsYes(text) || text.find("Chunked") != std::string::npos ? "yes" : "no";
    case Meaning::kFusedLoss:
      return IsYes(text) ? "fused" : "";
    case Meaning::kNoneStored:
      return IsYes(text) ? "none" : "full";
  }
  return {};
}

// Joins the layers that two keys name. A key that names all layers wins.
std::string BothTargets(const std::string& some, const std::string& more) {
  if (some.empty() || more == "all") return more;
  return some == "all" ? some : some + "," + more;
}

// Whether the file has that key at any value.
bool HasKey(const FlatKeys& keys, std::string_view name) {
  return std::any_of(keys.begin(), keys.end(), [&](const auto& key) { return key.first == name; });
}

}  // namespace

Result<PlanFile> ReadTrainingYaml(const std::string& text, const std::string& name) {
  FlatKeys keys;
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) return Fail(name + " is not a YAML mapping; give a training configuration");
    Flatten(root, "", 0, keys);
  } catch (const YAML::Exception& error) {
    return Fail(name + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
  PlanFile file;
  bool component = false;  // torchtune names its model's method in the component
  for (const auto& [key, value] : keys) {
    bool known = false;
    for (const YamlKey& row : kYamlKeys) {
      if (row.theirs != key) continue;
      known = true;
      const std::string word = Translated(row.meaning, value);
      if (word.empty() && row.meaning != Meaning::kOffloads && !IsNothing(value)) Unused(file, key + ": " + value);
      if (word.empty()) continue;
      // A switch that only says "adapter" does not win over a name that says which.
      const bool weaker = row.ours == "method" && word == "lora" && file.words.count("method") != 0;
      std::string& ours = file.words[std::string(row.ours)];
      ours = row.ours == "targets" ? BothTargets(ours, word) : weaker ? ours : word;
      component = component || row.theirs == "model._component_";
      if (row.theirs == "model._component_" && value.find("lora_") != std::string::npos) {
        file.words["method"] = value.find("qlora_") != std::string::npos ? "qlora" : "lora";
      }
    }
    if (!known) file.unused.push_back(key);
  }
  if (component) file.words["framework"] = "torchtune";
  // LLaMA-Factory checkpoints unless it is told not to.
  if (HasKey(keys, "finetuning_type") && file.words.count("checkpointing") == 0) file.words["checkpointing"] = "full";
  return file;
}

namespace {

// A scalar, or an array of them joined by commas, as text; empty for a table or a date.
std::string TomlWord(const toml::node& node) {
  if (const auto text = node.value<std::string>(); text && node.is_string()) return *text;
  if (node.is_boolean()) return node.value_or(false) ? "yes" : "no";
  if (node.is_integer()) return std::to_string(node.value_or(std::int64_t{0}));
  if (node.is_floating_point()) {
    std::ostringstream out;
    out.precision(15);
    out << node.value_or(0.0);
    return out.str();
  }
  std::string list;
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& item : *array) {
      if (!item.is_array()) list += (list.empty() ? "" : ",") + TomlWord(item);
    }
  }
  return list;
}

}  // namespace

Result<PlanFile> ReadPlanToml(std::string_view text, const std::string& name) {
  PlanFile file;
  try {
    const toml::table table = toml::parse(text);
    for (const auto& [key, node] : table) {
      const std::string word = TomlWord(node);
      if (word.empty()) {
        return FailUsage(name + ": " + std::string(key.str().substr(0, 40)) + " is not a text, number, switch or list");
      }
      file.words[std::string(key.str())] = word;
    }
  } catch (const toml::parse_error& error) {
    // A trace is the JSON that people most often give by mistake.
    if (text.starts_with('{')) {
      return Fail(name +
                  ": is JSON, perhaps a trace (idleburn audit reads traces); a plan is TOML, a training YAML or a " +
                  "model's config.json");
    }
    return Fail(name + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
  }
  return file;
}

namespace {

constexpr std::size_t kMostBytes = 1 << 20;  // of a configuration: more is some other file

// The whole file as text; too large a file is refused before it fills the memory.
Result<std::string> ReadWhole(ByteSource& in) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const std::size_t got = TRY(in.Read(buffer));
    if (got == 0) return text;
    text.append(buffer.data(), got);
    if (text.size() > kMostBytes) return Fail(in.name() + " is larger than 1 MiB, so it is not a run configuration");
  }
}

}  // namespace

Result<PlanFile> ReadPlanFile(ByteSource& in, const std::string& name) {
  const std::string text = TRY(ReadWhole(in));
  const std::string lower = Lower(name);
  if (lower.ends_with(".json")) return ReadHfConfig(text, name);
  if (lower.ends_with(".yaml") || lower.ends_with(".yml")) return ReadTrainingYaml(text, name);
  return ReadPlanToml(text, name);
}

}  // namespace idleburn
