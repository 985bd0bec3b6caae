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

// A row for each framework, in the order of the members of FrameworkHabits.
constexpr auto kHabits = std::to_array<FrameworkHabits>({
    {"llm-foundry", "fp32 parameters under FSDP", kFp32Parameters, kHalfBytes, 14, 14, 14, false, kNoLayers,
     Sharding::kZero3, Sharding::kZero3},
    {"megatron-bridge",
     "fp32 masters, shared out by its distributed optimizer",
     {2, 4, 4, 8, 0, 2, 2},
     kHalfBytes,
     14,
     14,
     14,
     false,
     kNoLayers,
     Sharding::kZero1,
     Sharding::kZero1},
    // HF Trainer with DeepSpeed: 18 are 16-bit logits, fp32 copy, shifted copy, gradient of either; a fp32 head needs
    // no copy.
    {"qwen",
     "DeepSpeed's fp32 masters, fp32 adapters, checkpointing",
     {2, 4, 2, 8, 16, 2, 2},
     {4, 0, 2, 8, 0, 2, 2},
     14,
     18,
     8,
     false,
     kWholeLayers,
     Sharding::kZero3,
     Sharding::kNone},
    {"peft", "16-bit weights, fp32 adapters", kHalfBytes, kFp32Adapters},
    {"litgpt", "16-bit numbers throughout, its loss in chunks, FSDP on several GPUs", kHalfBytes, kHalfBytes, 6, 6, 6,
     false, kNoLayers, Sharding::kGathered, Sharding::kGathered},
    {"fsdp_qlora", "16-bit adapters, checkpointing, FSDP on several GPUs", kHalfBytes, kHalfBytes, 14, 14, 14, false,
     kWholeLayers, Sharding::kZero3, Sharding::kZero3},
    {"torchtitan", "fp32 parameters under FSDP", kFp32Parameters, kHalfBytes, 14, 14, 14, false, kNoLayers,
     Sharding::kZero3, Sharding::kZero3},
    {"torchtune", "16-bit numbers throughout, loss in chunks, FSDP on several GPUs", kFusedHalf, kFusedHalf, 10, 10, 10,
     true, kNoLayers, Sharding::kZero3, Sharding::kZero3},
});

}  // namespace

const FrameworkHabits* HabitsOf(std::string_view framework) {
  const auto* found =
      std::find_if(kHabits.begin(), kHabits.end(), [&](const FrameworkHabits& h) { return h.framework == framework; });
  return found == kHabits.end() ? nullptr : found;
}

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
