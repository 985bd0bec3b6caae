#pragma once

#include <string_view>

#include "plan/run_config.h"

namespace idleburn {

// What a framework that was measured does unless it is told otherwise, as its documentation and its recipes say.
struct FrameworkHabits {
  std::string_view framework;
  std::string_view words;  // for people
  NumberBytes all;         // where all weights are trained
  NumberBytes adapters;    // where a LoRA is
  // Bytes that a token leaves for each word of the vocabulary, by method.
  double logits = 14;
  double lora_logits = 14;
  double qlora_logits = 14;
  bool chunked_loss = false;
  Checkpointing checkpointing = Checkpointing::kNone;
  // What several data-parallel GPUs share out, where all weights are trained and where a LoRA is.
  Sharding shares = Sharding::kNone;
  Sharding lora_shares = Sharding::kNone;
};

// Null for a framework that was not measured; of the name that FrameworkNamed gives.
const FrameworkHabits* HabitsOf(std::string_view framework);

}  // namespace idleburn
