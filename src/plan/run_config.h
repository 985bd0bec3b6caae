#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace idleburn {

// One training run in numbers: how it is divided over GPUs, what is trained, and what every number is stored in. The
// formulas read nothing else, so tables, plans and past runs all end up here. What a framework or an optimizer does by
// itself is kept here too, because it decides the same fields.

// Which weights are trained: all of them, a LoRA beside them, or a LoRA on weights in 4 bits.
enum class TuneMethod : std::uint8_t { kAllWeights, kLora, kQlora };
// What of the activations is thrown away and computed again: nothing, the costly part of each layer, or all but each
// layer's input.
enum class Checkpointing : std::uint8_t { kNone, kSelective, kWholeLayers };
// What the data-parallel ranks share out; kGathered keeps the whole weights on every GPU through forward and backward.
enum class Sharding : std::uint8_t { kNone, kZero1, kZero2, kZero3, kGathered };

// What a figure of memory contains.
enum class MemoryMetric : std::uint8_t {
  // Live tensors.
  kAllocated,
  // Live tensors and the allocator's cache.
  kReserved,
  // All of that with context, libraries and other processes. It is what nvidia-smi shows, and it decides whether a run
  // fits.
  kDevice,
};

// Bytes that each number takes, by what it is for. They differ by method and framework, and they decide on memory more
// than the shape does (docs/plan.md, "Memory").
struct NumberBytes {
  // A number that is trained, in the forward pass, and a wider copy of it, if there is one.
  double weight = 2;
  double master = 0;
  double gradient = 2;
  // The optimizer's states: momentum, variance.
  double optimizer = 4;
  // What the optimizer step needs while gradients live.
  double temporary = 4;
  // A number of the body where it is not trained.
  double frozen = 2;
  // A number of embedding and head where they are not trained.
  double frozen_vocab = 2;
};

// Three common ways to store numbers: mixed precision with fp32 masters, 16 bits throughout, and fp32 throughout.
inline constexpr NumberBytes kMixedBytes = {2, 4, 4, 8, 4, 2, 2};
inline constexpr NumberBytes kHalfBytes = {2, 0, 2, 4, 2, 2, 2};
inline constexpr NumberBytes kWideBytes = {4, 0, 4, 8, 4, 4, 4};
// Bytes of a frozen number in 4 bits whose scales are quantised too (QLoRA paper).
inline constexpr double kDoubleQuantised = 0.515875;

// Bytes a parameter of two optimizer states of 8 bits, with their scales.
inline constexpr double kEightBitStates = 2.03;

// One training run, as far as its memory and its time follow from it.
struct RunConfig {
  // As FrameworkNamed gives it; empty if nobody says it.
  std::string framework;
  TuneMethod method = TuneMethod::kAllWeights;
  std::string gpu;
  double gpus = 1;
  double nodes = 1;
  // Bandwidth between machines in GB/s, one direction; 0 where it is not stated.
  double network_gbs = 0;
  double tensor_parallel = 1;
  double pipeline_parallel = 1;
  double context_parallel = 1;
  // GPUs that share out the experts of a layer.
  double expert_parallel = 1;
  // Stages of a pipeline rank.
  double virtual_stages = 1;
  // Ranks of one shard group, where groups are replicas of each other (HSDP); 0 where all ranks share.
  double shard_group = 0;
  // Sequences per GPU and pass. With a pipeline, a pass is one micro-batch of it.
  double micro_batch = 1;
  double accumulation = 1;
  // Tokens of the longest batch's sequences, which memory follows.
  double sequence = 0;
  // Tokens of a sequence in the mean of all batches, which time follows; 0 stands for `sequence`.
  double mean_sequence = 0;
  MemoryMetric metric = MemoryMetric::kDevice;
  Sharding sharding = Sharding::kNone;
  // Bytes that a token leaves for each word of the vocabulary: logits, copies, gradient.
  double logit_bytes = 14;
  // Whether weights, gradients and states live in host memory.
  bool offload = false;
  Checkpointing checkpointing = Checkpointing::kNone;
  bool offload_activations = false;
  bool compile = false;
  bool compile_loss = false;
  // Whether gradients stay between the passes of one optimizer step.
  bool gradients_persist = true;
  // Parameters that ZeRO-3 keeps gathered, if that is more than two layers.
  double live_parameters = 0;
  // Parameters that the optimizer steps at a time.
  double step_group = 1e18;
  bool chunked_loss = false;
  // Whether head and loss are one kernel that never holds all logits (Liger, cut cross-entropy).
  bool fused_loss = false;
  bool optimizer_in_backward = false;
  // Whether states may be evicted to host memory, page by page, where the GPU is full.
  bool paged_optimizer = false;
  bool flash_attention = true;
  // Whether numbers are fp32 throughout.
  bool wide = false;
  bool fp8 = false;
  bool fp4 = false;
  NumberBytes bytes;
  // Trained parameters: of all (full), or of the adapters.
  double trained = 0;
  // The rank of a LoRA; 0 without one.
  double adapter_rank = 0;
  // Parameters of modules that are trained as copies (modules_to_save).
  double trained_copy = 0;
  // Bytes that a token leaves behind for adapters, in all layers.
  double adapter_inputs = 0;
  // Bytes of weight-sized matrices that adapters build in each pass.
  double adapter_deltas = 0;
  // Virtual tokens of a prompt.
  double extra_tokens = 0;

  // Replicas of the model, whose batches differ.
  [[nodiscard]] double DataParallel() const { return gpus / (tensor_parallel * pipeline_parallel * context_parallel); }
  // Ranks that share out what `sharding` names: those of a context group hold the same weights, so they share too.
  [[nodiscard]] double ShardRanks() const { return shard_group > 0 ? shard_group : DataParallel() * context_parallel; }
  // Tokens of a sequence in the mean, which time follows.
  [[nodiscard]] double MeanSequence() const { return mean_sequence > 0 ? mean_sequence : sequence; }
  // How many parameters are trained of a model, or of a GPU's part of it, that has `all`.
  [[nodiscard]] double TrainedOf(double all) const {
    return method == TuneMethod::kAllWeights ? all : trained + trained_copy;
  }
  // Tokens of one pass through one GPU.
  [[nodiscard]] double MicroTokens() const { return micro_batch * (sequence + extra_tokens) / context_parallel; }
};

// What a framework does unless it is told otherwise, by its documentation and its recipes.
struct FrameworkHabits {
  std::string_view framework = {};
  // The measured framework whose training loop it runs; empty if it has its own.
  std::string_view runs_on = {};
  // The habits in words, for people.
  std::string_view words = {};
  // Where all weights are trained, and where a LoRA is.
  NumberBytes all = {};
  NumberBytes adapters = {};
  // Bytes that a token leaves for each word of the vocabulary, by method.
  double logits = 14;
  double lora_logits = 14;
  double qlora_logits = 14;
  bool chunked_loss = false;
  // Where weights are not quantised, and where they are.
  Checkpointing checkpointing = Checkpointing::kNone;
  Checkpointing qlora_checkpointing = Checkpointing::kWholeLayers;
  // What several data-parallel GPUs share out, where all weights are trained and where a LoRA is.
  Sharding shares = Sharding::kNone;
  Sharding lora_shares = Sharding::kNone;
  // Rank of a LoRA, and whether its queries, keys and values are one layer.
  double rank = 16;
  bool fused_qkv = false;
  // Whether gradients of adapters stay between passes.
  bool adapters_persist = true;
  // As in RunConfig.
  double live_parameters = 0;
  double step_group = 1e18;
  bool offload_activations = false;
};

// The habits of a framework by the name that FrameworkNamed gives. Null for one that is not known.
const FrameworkHabits* HabitsOf(std::string_view framework);
std::span<const FrameworkHabits> AllHabits();

// How the weights under a LoRA are stored: as they are, or quantised by bitsandbytes to 8 or 4 bits.
enum class BaseFormat : std::uint8_t { kAsIs, kInt8, kNf4 };

// Makes the run store the linear layers of the body in that format. Embedding and head become fp32, to which PEFT
// raises them for such training (prepare_model_for_kbit_training). Four bits make the run a QLoRA, whose layers are
// unpacked while they are used. Eight bits multiply as they are.
void StoreBaseIn(BaseFormat format, RunConfig& run);

// Bytes of an optimizer's states per trained parameter, as the programs that use it keep them.
struct OptimizerFacts {
  std::string_view name;
  // States in fp32, and states in the precision of pure 16-bit weights.
  double wide_bytes = 8;
  double half_bytes = 4;
  // Whether its states are paged.
  [[nodiscard]] bool paged() const { return name.starts_with("paged"); }
};

// Finds an optimizer by the names that training programs use: "adamw_torch", "paged_adamw_8bit", "torch.optim.AdamW".
// The error suggests the nearest name.
Result<OptimizerFacts> OptimizerNamed(std::string_view name);

}  // namespace idleburn
