#pragma once

#include <cstdint>
#include <string>

namespace idleburn {

enum class TuneMethod : std::uint8_t { kAllWeights, kLora, kQlora };
enum class Checkpointing : std::uint8_t { kNone, kSelective, kWholeLayers };
// What the data-parallel ranks share out; kGathered keeps the whole weights on every GPU through forward and backward.
enum class Sharding : std::uint8_t { kNone, kZero1, kZero2, kZero3, kGathered };

// What a memory figure contains.
enum class MemoryMetric : std::uint8_t {
  kAllocated,  // live tensors
  kReserved,   // and the allocator's cache
  kDevice,     // and context, libraries, other processes: what nvidia-smi shows and what decides whether a run fits
};

// Bytes that a number takes, by what it is for (docs/plan.md, "Memory").
struct NumberBytes {
  double weight = 2;  // of what is trained, in the forward pass
  double master = 0;  // a wider copy of it
  double gradient = 2;
  double optimizer = 4;     // states: momentum, variance
  double temporary = 4;     // of the optimizer step, while gradients live
  double frozen = 2;        // of the body where it is not trained
  double frozen_vocab = 2;  // of embedding and head where they are not trained
};

// One training run, as far as its memory and its time follow from it.
struct RunConfig {
  std::string framework;  // "" unknown
  TuneMethod method = TuneMethod::kAllWeights;
  std::string gpu;
  double gpus = 1;
  double nodes = 1;
  double tensor_parallel = 1;
  double pipeline_parallel = 1;
  double context_parallel = 1;
  double expert_parallel = 1;  // GPUs that share out the experts of a layer
  double virtual_stages = 1;   // of a pipeline rank
  double micro_batch = 1;      // sequences per GPU and pass
  double accumulation = 1;
  double sequence = 0;       // tokens, of the longest batch
  double mean_sequence = 0;  // of all batches, which time follows; 0: as the longest
  MemoryMetric metric = MemoryMetric::kDevice;
  Sharding sharding = Sharding::kNone;
  double logit_bytes = 14;  // that a token leaves for each word of the vocabulary: logits, copies, gradient
  bool offload = false;     // weights, gradients and states live in host memory
  Checkpointing checkpointing = Checkpointing::kNone;
  bool offload_activations = false;
  bool compile = false;
  bool compile_loss = false;
  bool gradients_persist = true;  // between the passes of one optimizer step
  double live_parameters = 0;     // that ZeRO-3 keeps gathered, if more than two layers
  double step_group = 1e18;       // parameters that the optimizer steps at a time
  bool chunked_loss = false;
  bool optimizer_in_backward = false;
  bool flash_attention = true;
  bool wide = false;  // fp32 numbers throughout
  bool fp8 = false;
  bool fp4 = false;
  NumberBytes bytes;
  double trained = 0;         // parameters: of all (full), or of the adapters
  double adapter_rank = 0;    // of a LoRA
  double trained_copy = 0;    // parameters of modules that are trained as copies (modules_to_save)
  double adapter_inputs = 0;  // numbers a token leaves behind for adapters, all layers
  double adapter_deltas = 0;  // parameters of weight-sized matrices that adapters build in each pass
  double extra_tokens = 0;    // virtual tokens of a prompt

  // Ranks that share out what `sharding` shares.
  [[nodiscard]] double DataParallel() const { return gpus / (tensor_parallel * pipeline_parallel * context_parallel); }
  // Tokens of one pass through one GPU.
  [[nodiscard]] double MicroTokens() const { return micro_batch * (sequence + extra_tokens) / context_parallel; }
};

}  // namespace idleburn
