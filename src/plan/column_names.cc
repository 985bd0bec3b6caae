#include "plan/column_names.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostNames = 20;
using Names = std::array<std::string_view, kMostNames>;  // one thing each; "" fills up

constexpr std::array<Names, 37> kNames = {{
    {"framework", "library", "engine", "trainer"},
    {"model", "model_name", "base_model", "model_name_or_path", "model_id", "checkpoint"},
    {"size", "model_size"},
    {"total_params", "n_params", "params", "num_params", "parameters"},
    {"n_layers", "num_layers", "num_hidden_layers", "layers", "n_layer"},
    {"d_model", "hidden_size", "hidden", "hidden_dim", "n_embd"},
    {"n_heads", "num_attention_heads", "num_heads", "heads", "n_head"},
    {"kv_heads", "n_kv_heads", "num_key_value_heads", "num_kv_heads"},
    {"d_ff", "intermediate_size", "ffn_hidden_size", "ffn", "ffn_dim"},
    {"vocab", "vocab_size"},
    {"gpu", "system", "gpu_type", "gpu_model", "device", "accelerator", "hardware", "gpu_name"},
    {"n_gpus", "gpus", "num_gpus", "world_size", "gpu_count", "devices"},
    {"nodes", "n_nodes", "num_nodes", "nnodes"},
    {"gpus_per_node", "nproc_per_node", "num_gpus_per_node"},
    {"micro_batch", "mbs", "local_batch", "batch_per_gpu", "batch_size", "batch", "micro_batch_size",
     "per_device_train_batch_size", "batch_size_per_gpu", "per_device_batch_size", "local_batch_size",
     "batch_size_per_device", "train_micro_batch_size_per_gpu", "micro_batch_size_per_gpu", "bs"},
    {"global_batch", "gbs", "global_batch_size", "train_batch_size", "effective_batch_size", "effective_batch",
     "total_batch_size"},
    {"global_batch_tokens", "batch_tokens", "tokens_per_batch", "tokens_per_step", "global_batch_size_tokens"},
    {"grad_accum", "gradient_accumulation_steps", "accumulation", "grad_accum_steps", "gradient_accumulation",
     "accumulate_grad_batches"},
    {"seq_len", "max_seq_len", "context", "seq_length", "sequence_length", "context_length", "sequence_len",
     "cutoff_len", "max_seq_length", "max_length", "seqlen", "block_size", "max_sequence_length", "ctx_len", "seq"},
    {"method", "kind", "finetuning_type", "training_type", "task", "peft_method", "adapter"},
    {"quantization", "load_in_4bit", "quantization_bit", "quant"},
    {"precision", "dtype", "mixed_precision", "torch_dtype", "data_type"},
    {"act_ckpt", "grad_ckpt", "gradient_checkpointing", "activation_checkpointing", "checkpointing", "recompute",
     "activation_checkpoint", "recompute_granularity", "enable_activation_checkpointing"},
    {"sharding", "parallelism", "strategy", "zero_stage", "deepspeed", "zero", "fsdp", "sharding_strategy"},
    {"tp", "tensor_parallel", "tensor_parallel_size", "tensor_model_parallel_size", "tp_size", "tp_degree",
     "tensor_parallel_degree"},
    {"pp", "pipeline_parallel", "pipeline_parallel_size", "pipeline_model_parallel_size", "pp_size", "pp_degree",
     "pipeline_parallel_degree"},
    {"cp", "context_parallel", "context_parallel_size", "cp_size", "cp_degree", "context_parallel_degree"},
    {"ep", "expert_parallel", "expert_parallel_size", "expert_model_parallel_size", "ep_size", "ep_degree"},
    {"dp", "data_parallel", "data_parallel_size", "dp_size", "dp_degree", "data_parallel_degree",
     "data_parallel_shard_degree"},
    {"rank", "lora_r", "lora_rank", "r"},
    {"cpu_offload", "offload"},
    {"optimizer", "optim"},
    {"compile", "torch_compile"},
    {"chunked_ce", "liger_kernel", "use_liger_kernel", "fused_linear_ce", "fused_ce"},
    {"load_in_8bit"},
    {"packed", "packing", "sample_packing"},
    {"attention", "attn_implementation", "flash_attention", "flash_attn", "attn", "attention_implementation"},
}};

constexpr std::array<std::string_view, 5> kUnits = {"_tokens", "_token", "_count", "_seqs", "_sequences"};

const Names* GroupOf(std::string_view column) {
  for (const Names& names : kNames) {
    if (!column.empty() && std::find(names.begin(), names.end(), column) != names.end()) return &names;
  }
  return nullptr;
}

// "seqLen" is "seq_Len".
std::string SplitCamel(std::string_view name) {
  std::string split;
  for (const char c : name) {
    const bool begins = std::isupper(static_cast<unsigned char>(c)) != 0 && !split.empty() &&
                        std::islower(static_cast<unsigned char>(split.back())) != 0;
    if (begins) split += '_';
    split += c;
  }
  return split;
}

}  // namespace

std::string PlainColumn(std::string_view name) {
  std::string plain;
  std::string behind;  // in brackets
  bool brackets = false;
  for (const char c : Trim(name)) {
    brackets = brackets || c == '(' || c == '[';
    const bool separates = c == ' ' || c == '-';
    (brackets ? behind : plain) += separates ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  while (plain.ends_with('_')) plain.pop_back();
  if (behind.find("token") != std::string::npos && IsSynonym(plain + "_tokens")) return plain + "_tokens";
  if (IsSynonym(plain)) return plain;
  for (const std::string_view unit : kUnits) {
    if (plain.size() <= unit.size() || !plain.ends_with(unit)) continue;
    const std::string without = plain.substr(0, plain.size() - unit.size());
    if (IsSynonym(without)) return without;
  }
  const std::string split = SplitCamel(Trim(name));
  return split == Trim(name) ? plain : PlainColumn(split);
}

std::span<const std::string_view> SynonymsOf(std::string_view column) {
  const Names* names = GroupOf(column);
  if (names == nullptr) return {};
  const auto end = std::find(names->begin(), names->end(), std::string_view());
  return {names->begin(), end};
}

bool IsSynonym(std::string_view column) { return GroupOf(column) != nullptr; }

}  // namespace idleburn
