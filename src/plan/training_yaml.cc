#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>

#include "plan/plan_files.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr int kMostDepth = 16;
constexpr std::size_t kMostKeys = 10'000;

using FlatKeys = std::vector<std::pair<std::string, std::string>>;  // dotted key, scalar or comma-joined list

std::string Joined(const YAML::Node& list) {
  std::string text;
  for (const YAML::Node& item : list) {
    if (item.IsScalar()) text += (text.empty() ? "" : ",") + item.Scalar();
  }
  return text;
}

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

// How a value of theirs becomes one of ours.
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
  kChunkedLoss,  // a switch, or the name of a loss
  kNoneStored,   // a switch: checkpointing none
};

struct YamlKey {
  std::string_view theirs;
  std::string_view ours;
  Meaning meaning;
};

// axolotl, LLaMA-Factory, torchtune, TRL.
constexpr auto kKeys = std::to_array<YamlKey>({
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
    {"tensor_parallel_size", "tp", Meaning::kAsIs},
    {"tensor_parallel_dim", "tp", Meaning::kAsIs},
    {"torch_compile", "compile", Meaning::kSwitch},
    {"compile", "compile", Meaning::kSwitch},
    {"loss._component_", "chunked_loss", Meaning::kChunkedLoss},
    {"use_liger_kernel", "chunked_loss", Meaning::kChunkedLoss},
    {"enable_liger_kernel", "chunked_loss", Meaning::kChunkedLoss},
    {"liger_fused_linear_cross_entropy", "chunked_loss", Meaning::kChunkedLoss},
    {"cut_cross_entropy", "chunked_loss", Meaning::kChunkedLoss},
    {"dtype", "precision", Meaning::kBf16},
    {"torch_dtype", "precision", Meaning::kBf16},
});

bool IsYes(std::string_view text) {
  return EqualsIgnoreCase(text, "true") || EqualsIgnoreCase(text, "yes") || EqualsIgnoreCase(text, "on") || text == "1";
}

bool IsNothing(std::string_view text) {
  return text.empty() || text == "~" || EqualsIgnoreCase(text, "null") || EqualsIgnoreCase(text, "none") ||
         EqualsIgnoreCase(text, "false") || EqualsIgnoreCase(text, "no") || EqualsIgnoreCase(text, "off") ||
         text == "0";
}

// Each once.
void Unused(PlanFile& file, std::string what) {
  constexpr std::size_t kMost = 60;
  if (what.size() > kMost) what.resize(kMost);
  if (std::find(file.unused.begin(), file.unused.end(), what) == file.unused.end()) file.unused.push_back(what);
}

// "torchtune.models.llama3_1.lora_llama3_1_8b" -> "llama3_1_8b".
std::string ModelIn(const std::string& text) {
  if (text.find('/') != std::string::npos) return text;
  std::string last = text.substr(
      text.rfind('.') == std::string::npos || text.find("models.") == std::string::npos ? 0 : text.rfind('.') + 1);
  for (const std::string_view prefix : {"qlora_", "lora_"}) {
    if (last.compare(0, prefix.size(), prefix) == 0) return last.substr(prefix.size());
  }
  return last;
}

// Their value in our words; empty if it says nothing that a plan needs.
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
      return IsYes(text) || text == "unsloth" ? "full" : "none";
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
      return IsYes(text) || text.find("Chunked") != std::string::npos || text.find("LinearCross") != std::string::npos
                 ? "yes"
                 : "no";
    case Meaning::kNoneStored:
      return IsYes(text) ? "none" : "full";
  }
  return {};
}

// Several keys name layers; what names all of them says all.
std::string BothTargets(const std::string& some, const std::string& more) {
  if (some.empty() || more == "all") return more;
  return some == "all" ? some : some + "," + more;
}

bool HasKey(const FlatKeys& keys, std::string_view name) {
  return std::any_of(keys.begin(), keys.end(), [&](const auto& key) { return key.first == name; });
}

}  // namespace

Result<PlanFile> ReadTrainingYaml(const std::string& text, const std::string& name) {
  FlatKeys keys;
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) return Fail(name + " is no YAML mapping; give a training configuration");
    Flatten(root, "", 0, keys);
  } catch (const YAML::Exception& error) {
    return Fail(name + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
  PlanFile file;
  bool component = false;  // torchtune names its model's method in the component
  for (const auto& [key, value] : keys) {
    bool known = false;
    for (const YamlKey& row : kKeys) {
      if (row.theirs != key) continue;
      known = true;
      const std::string word = Translated(row.meaning, value);
      if (word.empty() && row.meaning != Meaning::kOffloads && !IsNothing(value)) Unused(file, key + ": " + value);
      if (word.empty()) continue;
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

}  // namespace idleburn
