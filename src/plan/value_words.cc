#include "plan/value_words.h"

#include <algorithm>
#include <array>
#include <string>

#include "text/strings.h"

namespace idleburn {

// Texts are compared as letters and digits, so that bf16-mixed, BF16_MIXED and "bf16 mixed" are one word.

namespace {

// Whether the text is one of the words, which have "|" around each.
bool IsAmongWords(std::string_view words, const std::string& text) {
  return words.find("|" + text + "|") != std::string_view::npos;
}

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

std::optional<TuneMethod> MethodNamed(std::string_view text) {
  const std::string word = Squash(text);
  if (Contains(word, "qlora")) return TuneMethod::kQlora;
  if (Contains(word, "lora") || Contains(word, "dora")) return TuneMethod::kLora;
  constexpr auto kAllTrained =
      std::to_array<std::string_view>({"full", "pre", "sft", "finetun", "dense", "fft", "allweights"});
  const bool full =
      std::any_of(kAllTrained.begin(), kAllTrained.end(), [&](std::string_view one) { return word.starts_with(one); });
  return full || word == "none" ? std::optional(TuneMethod::kAllWeights) : std::nullopt;
}

std::optional<NumberFormat> NumberFormatNamed(std::string_view text) {
  constexpr std::string_view kAmp =
      "|amp|ampbf16|ampfp16|bf16amp|mixed|mixedprecision|bf16mixed|fp16mixed|16mixed|mixedbf16|fp16|float16|half|"
      "torchfloat16|16|bf16mixedprecision|autocast|";
  constexpr std::string_view kPureHalf = "|bf16|bfloat16|torchbfloat16|bf16true|16true|purebf16|";
  constexpr std::string_view kWide = "|fp32|float32|torchfloat32|32|32true|tf32|float|";
  const std::string word = Squash(text);
  if (Contains(word, "fp4")) return NumberFormat{kMixedBytes, false, false, true};
  if (Contains(word, "fp8") || Contains(word, "float8")) return NumberFormat{kMixedBytes, false, true, false};
  if (IsAmongWords(kAmp, word)) return NumberFormat{kMixedBytes};
  if (IsAmongWords(kPureHalf, word)) return NumberFormat{kHalfBytes};
  if (IsAmongWords(kWide, word)) return NumberFormat{kWideBytes, true};
  return std::nullopt;
}

std::optional<BaseFormat> BaseFormatNamed(std::string_view text) {
  constexpr std::string_view kFour = "|4bit|bnb4bit|int4|4|true|yes|1|awq|gptq|gptqint4|";
  constexpr std::string_view kEight = "|8bit|bnb8bit|8|";
  constexpr std::string_view kNone = "|none|no|false|0|off|na|16|";
  const std::string word = Squash(text);
  if (Contains(word, "int8") || IsAmongWords(kEight, word)) return BaseFormat::kInt8;
  if (Contains(word, "nf4") || Contains(word, "fp4") || IsAmongWords(kFour, word)) return BaseFormat::kNf4;
  return IsAmongWords(kNone, word) ? std::optional(BaseFormat::kAsIs) : std::nullopt;
}

std::optional<StoredActivations> StoredNamed(std::string_view text) {
  const std::string word = Squash(text);
  if (word.starts_with("selective")) return StoredActivations{Checkpointing::kSelective};
  if (word == "unsloth") return StoredActivations{Checkpointing::kWholeLayers, true};
  if (IsAmongWords("|block|uniform|reentrant|alllayers|everylayer|wholelayers|", word)) {
    return StoredActivations{Checkpointing::kWholeLayers};
  }
  const std::optional<bool> on = SwitchNamed(text);
  if (!on) return std::nullopt;
  return StoredActivations{*on ? Checkpointing::kWholeLayers : Checkpointing::kNone};
}

std::optional<LossKind> LossNamed(std::string_view text) {
  const std::string word = Squash(text);
  if (Contains(word, "liger") || Contains(word, "fused") || Contains(word, "linearcross") ||
      Contains(word, "cutcross")) {
    return LossKind::kFused;
  }
  if (Contains(word, "chunk")) return LossKind::kChunked;
  const std::optional<bool> on = SwitchNamed(text);
  if (!on) return std::nullopt;
  return *on ? LossKind::kChunked : LossKind::kWhole;
}

std::optional<bool> FusedAttentionNamed(std::string_view text) {
  const std::string word = Squash(text);
  if (word == "eager") return false;
  if (Contains(word, "flash") || Contains(word, "fa2") || Contains(word, "fa3") ||
      IsAmongWords("|sdpa|xformers|auto|flexattention|memoryefficient|cudnn|paged|", word)) {
    return true;
  }
  return SwitchNamed(text);
}

std::optional<bool> SwitchNamed(std::string_view text) {
  constexpr auto kYes = std::to_array<std::string_view>({"1", "1.0", "true", "t", "yes", "y", "on", "full", "enabled"});
  constexpr auto kNo =
      std::to_array<std::string_view>({"0", "0.0", "false", "f", "no", "n", "off", "none", "n/a", "disabled"});
  const auto is = [&](std::string_view word) { return EqualsIgnoreCase(word, Trim(text)); };
  if (std::any_of(kYes.begin(), kYes.end(), is)) return true;
  if (std::any_of(kNo.begin(), kNo.end(), is)) return false;
  return std::nullopt;
}

}  // namespace idleburn
