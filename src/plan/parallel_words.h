#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/run_config.h"

namespace idleburn {

// How people write the division of a run over GPUs in one cell: "fsdp8 cp4", "fsdp32_tp8_async_bf16", "ZeRO-3",
// "tp8 pp8 1f1b", "FULL_SHARD", "hsdp". torchtitan, Megatron, DeepSpeed and PyTorch each have their own words.

// What such a text says; what it does not say is absent.
struct ParallelWords {
  std::optional<Sharding> sharding;
  // Whether groups of shards are replicas of each other (HSDP).
  bool hybrid = false;
  bool offload = false;
  // Degrees that stand behind a word: 8 of "tp8".
  std::optional<double> tensor;
  std::optional<double> pipeline;
  std::optional<double> context;
  std::optional<double> expert;
  std::optional<double> virtual_stages;
  // Ranks that share out the weights: 8 of "fsdp8"; and replicas of the model: 4 of "ddp4".
  std::optional<double> shards;
  std::optional<double> replicas;
};

// Reads the text. The error names the first word that is not understood.
Result<ParallelWords> ReadParallelWords(std::string_view text);

}  // namespace idleburn
