#include "plan/run_config.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "text/command_line.h"
#include "text/strings.h"

namespace idleburn {

// The defaults that change what numbers take. Each row is taken from the framework's documentation and published
// recipes, because a plan seldom says them and they decide on memory. A framework that is not listed has no habits; its
// runs get wider intervals instead of guessed ones.

namespace {

// An optimizer that steps in place needs no temporaries.
constexpr NumberBytes kFusedHalf = {2, 0, 2, 4, 0, 2, 2};
// Adapters in fp32 over weights in 16 bits.
constexpr NumberBytes kFp32Adapters = {4, 0, 4, 8, 4, 2, 2};
// Parameters kept in fp32 and computed with in 16 bits, which need no separate master.
constexpr NumberBytes kFp32Parameters = {4, 0, 4, 8, 0, 2, 2};  // computed with in 16 bits
// Short names for the rows below.
constexpr auto kWholeLayers = Checkpointing::kWholeLayers;
constexpr auto kNoLayers = Checkpointing::kNone;

// Numbers of a LoRA as PEFT trains it over weights in 16 bits, with gradients in fp32.
constexpr NumberBytes kPeftAdapters = kFp32Adapters;

// A row for each framework; what a row does not name has the default of FrameworkHabits.
constexpr auto kHabits = std::to_array<FrameworkHabits>({
    {.framework = "llm-foundry",
     .words = "fp32 parameters under FSDP",
     .all = kFp32Parameters,
     .adapters = kHalfBytes,
     .shares = Sharding::kZero3,
     .lora_shares = Sharding::kZero3},
    {.framework = "megatron-bridge",
     .words = "fp32 masters, shared out by its distributed optimizer",
     .all = {2, 4, 4, 8, 0, 2, 2},
     .adapters = kHalfBytes,
     .shares = Sharding::kZero1,
     .lora_shares = Sharding::kZero1},
    // HF Trainer with DeepSpeed: 18 are 16-bit logits, fp32 copy, shifted copy, gradient of either; a fp32 head needs
    // no copy.
    {.framework = "qwen",
     .words = "DeepSpeed's fp32 masters, fp32 adapters, LoRA of rank 64, checkpointing",
     .all = {2, 4, 2, 8, 16, 2, 2},
     .adapters = {4, 0, 2, 8, 0, 2, 2},
     .lora_logits = 18,
     .qlora_logits = 8,
     .checkpointing = kWholeLayers,
     .shares = Sharding::kZero3,
     .rank = 64,
     .fused_qkv = true,
     .adapters_persist = false,
     .live_parameters = 2e9,  // DeepSpeed's stage3_max_live_parameters and stage3_max_reuse_distance
     .step_group = 1e9},      // its sub_group_size
    {.framework = "peft", .words = "16-bit weights, fp32 adapters", .all = kHalfBytes, .adapters = kPeftAdapters},
    {.framework = "litgpt",
     .words = "16-bit numbers throughout, its loss in chunks, FSDP on several GPUs",
     .all = kHalfBytes,
     .adapters = kHalfBytes,
     .logits = 6,
     .lora_logits = 6,
     .qlora_logits = 6,
     .qlora_checkpointing = kNoLayers,
     .shares = Sharding::kGathered,
     .lora_shares = Sharding::kGathered,
     .rank = 8},
    {.framework = "fsdp_qlora",
     .words = "16-bit adapters of rank 64, checkpointing, FSDP on several GPUs",
     .all = kHalfBytes,
     .adapters = kHalfBytes,
     .checkpointing = kWholeLayers,
     .shares = Sharding::kZero3,
     .lora_shares = Sharding::kZero3,
     .rank = 64,
     .fused_qkv = true},
    {.framework = "torchtitan",
     .words = "fp32 parameters under FSDP",
     .all = kFp32Parameters,
     .adapters = kHalfBytes,
     .shares = Sharding::kZero3,
     .lora_shares = Sharding::kZero3},
    {.framework = "torchtune",
     .words = "16-bit numbers throughout, loss in chunks, LoRA of rank 8, FSDP on several GPUs",
     .all = kFusedHalf,
     .adapters = kFusedHalf,
     .logits = 10,
     .lora_logits = 10,
     .qlora_logits = 10,
     .chunked_loss = true,
     .shares = Sharding::kZero3,
     .lora_shares = Sharding::kZero3,
     .rank = 8,
     .fused_qkv = true},
    // Transformers' Trainer with PEFT: 16-bit weights, adapters in fp32 (autocast_adapter_dtype).
    {.framework = "hf", .words = "16-bit weights, fp32 adapters", .all = kHalfBytes, .adapters = kPeftAdapters},
    {.framework = "trl",
     .runs_on = "hf",
     .words = "16-bit weights, fp32 adapters",
     .all = kHalfBytes,
     .adapters = kPeftAdapters},
    // Every method checkpoints (disable_gradient_checkpointing=False).
    {.framework = "llama-factory",
     .runs_on = "hf",
     .words = "checkpointing, fp32 adapters of rank 8",
     .all = kHalfBytes,
     .adapters = kPeftAdapters,
     .checkpointing = kWholeLayers,
     .rank = 8},
    {.framework = "axolotl",
     .runs_on = "hf",
     .words = "16-bit weights, fp32 adapters",
     .all = kHalfBytes,
     .adapters = kPeftAdapters},
    // get_peft_model(use_gradient_checkpointing="unsloth"), and its loss in chunks.
    {.framework = "unsloth",
     .words = "checkpoints in host memory, loss in chunks, fp32 adapters",
     .all = kHalfBytes,
     .adapters = kPeftAdapters,
     .chunked_loss = true,
     .checkpointing = kWholeLayers,
     .offload_activations = true},
});

}  // namespace

const FrameworkHabits* HabitsOf(std::string_view framework) {
  const auto* found =
      std::find_if(kHabits.begin(), kHabits.end(), [&](const FrameworkHabits& h) { return h.framework == framework; });
  return found == kHabits.end() ? nullptr : found;
}

std::span<const FrameworkHabits> AllHabits() { return kHabits; }

void StoreBaseIn(BaseFormat format, RunConfig& run) {
  constexpr double kInt8 = 1;
  if (format == BaseFormat::kAsIs) return;
  run.method = format == BaseFormat::kNf4 ? TuneMethod::kQlora : TuneMethod::kLora;
  run.bytes.frozen = format == BaseFormat::kNf4 ? kDoubleQuantised : kInt8;
  run.bytes.frozen_vocab = 4;
}

namespace {

// Bytes of the states of each optimizer. 8-bit states have their scales beside them, so they take a little more than a
// byte each. Paged AdamW keeps fp32 states whatever the weights are.
constexpr auto kOptimizers = std::to_array<OptimizerFacts>({
    {"adamw", 8, 4},
    {"adam", 8, 4},
    {"adamw_torch", 8, 4},
    {"adamw_torch_fused", 8, 4},
    {"adamw_hf", 8, 4},
    {"adamw_apex_fused", 8, 4},
    {"adamw_torch_8bit", 2.03, 2.03},
    {"adamw_torch_4bit", 1.06, 1.06},
    {"adamw_8bit", 2.03, 2.03},
    {"adamw_bnb_8bit", 2.03, 2.03},
    {"paged_adamw_8bit", 2.03, 2.03},
    {"paged_adamw", 8, 8},
    {"paged_adamw_32bit", 8, 8},
    {"sgd", 4, 2},
    {"lion", 4, 2},
    {"lion_8bit", 1.02, 1.02},
    {"paged_lion_8bit", 1.02, 1.02},
    {"muon", 4, 2},
    {"adafactor", 0.1, 0.1},
});

}  // namespace

Result<OptimizerFacts> OptimizerNamed(std::string_view name) {
  std::vector<std::string> names;
  const std::string plain = Squash(name.substr(name.rfind('.') + 1));  // "torch.optim.AdamW"
  for (const OptimizerFacts& optimizer : kOptimizers) {
    if (Squash(optimizer.name) == plain) return optimizer;
    names.emplace_back(optimizer.name);
  }
  return FailUsage("optimizer '" + std::string(name.substr(0, 40)) + "' is not known; " + SuggestionFor(name, names));
}

}  // namespace idleburn
