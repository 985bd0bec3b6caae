#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plan/run_config.h"

namespace idleburn {

// Values of a configuration as programs and people write them, for flags, files and tables alike, so that a run gets
// one answer however it is written. Each function is absent for a text that it does not know; nothing is guessed.

// "full", "SFT", "pretrain" and "fft"; "lora", "LoRA+", "dora"; "qlora".
std::optional<TuneMethod> MethodNamed(std::string_view text);

// In what numbers are stored and multiplied.
struct NumberFormat {
  // Bytes of trained weights, masters, gradients and states where all weights are trained.
  NumberBytes bytes;
  bool wide = false;
  bool fp8 = false;
  bool fp4 = false;
};
// "amp" and "bf16-mixed": fp32 masters; "bf16": 16 bits throughout; "fp32"; "fp8", "mxfp8"; "nvfp4".
std::optional<NumberFormat> NumberFormatNamed(std::string_view text);

// "none", "int8", "nf4", "bnb-4bit", "gptq-int4".
std::optional<BaseFormat> BaseFormatNamed(std::string_view text);

// What is stored of the activations, and where.
struct StoredActivations {
  Checkpointing checkpointing = Checkpointing::kNone;
  // Whether each layer's input goes to host memory (Unsloth).
  bool on_host = false;
};
// "none", "selective", "full", "1", "unsloth".
std::optional<StoredActivations> StoredNamed(std::string_view text);

// How the loss is worked out.
enum class LossKind : std::uint8_t { kWhole, kChunked, kFused };
// "no", "chunked", "fused", "liger".
std::optional<LossKind> LossNamed(std::string_view text);

// Whether attention is a fused kernel: "flash_attention_2", "sdpa", "eager".
std::optional<bool> FusedAttentionNamed(std::string_view text);

// "1", "Yes", "enabled"; "0", "off", "None".
std::optional<bool> SwitchNamed(std::string_view text);

}  // namespace idleburn
