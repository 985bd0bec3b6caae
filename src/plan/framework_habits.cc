#include "plan/framework_habits.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

constexpr NumberBytes kPureHalf = {2, 0, 2, 4, 2, 2, 2};
constexpr NumberBytes kFusedHalf = {2, 0, 2, 4, 0, 2, 2};
constexpr NumberBytes kFp32Adapters = {4, 0, 4, 8, 4, 2, 2};
constexpr NumberBytes kFp32Parameters = {4, 0, 4, 8, 0, 2, 2};  // computed with in 16 bits
constexpr auto kFull = Checkpointing::kWholeLayers;
constexpr auto kNone = Checkpointing::kNone;

constexpr auto kHabits = std::to_array<FrameworkHabits>({
    {"llm-foundry", "fp32 parameters under FSDP", kFp32Parameters, kPureHalf, 14, 14, 14, false, kNone,
     Sharding::kZero3, Sharding::kZero3},
    {"megatron-bridge",
     "fp32 masters, shared out by its distributed optimizer",
     {2, 4, 4, 8, 0, 2, 2},
     kPureHalf,
     14,
     14,
     14,
     false,
     kNone,
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
     kFull,
     Sharding::kZero3,
     Sharding::kNone},
    {"peft", "16-bit weights, fp32 adapters", kPureHalf, kFp32Adapters},
    {"litgpt", "16-bit numbers throughout, its loss in chunks, FSDP on several GPUs", kPureHalf, kPureHalf, 6, 6, 6,
     false, kNone, Sharding::kGathered, Sharding::kGathered},
    {"fsdp_qlora", "16-bit adapters, checkpointing, FSDP on several GPUs", kPureHalf, kPureHalf, 14, 14, 14, false,
     kFull, Sharding::kZero3, Sharding::kZero3},
    {"torchtitan", "fp32 parameters under FSDP", kFp32Parameters, kPureHalf, 14, 14, 14, false, kNone, Sharding::kZero3,
     Sharding::kZero3},
    {"torchtune", "16-bit numbers throughout, loss in chunks, FSDP on several GPUs", kFusedHalf, kFusedHalf, 10, 10, 10,
     true, kNone, Sharding::kZero3, Sharding::kZero3},
});

}  // namespace

const FrameworkHabits* HabitsOf(std::string_view framework) {
  const auto* found =
      std::find_if(kHabits.begin(), kHabits.end(), [&](const FrameworkHabits& h) { return h.framework == framework; });
  return found == kHabits.end() ? nullptr : found;
}

}  // namespace idleburn
