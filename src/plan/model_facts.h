#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace idleburn {

// The shape of a decoder-only transformer: all that memory and FLOPs follow from. 0 is "not known".
struct ModelFacts {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // fewer than heads: grouped-query attention
  std::int64_t head_dim = 0;  // 0: hidden / heads
  std::int64_t ffn = 0;       // width of the MLP
  std::int64_t vocab = 0;
  bool gated = true;  // three matrices an MLP (SwiGLU) and RMSNorm; else two and LayerNorm
  bool tied = false;  // the head is the embedding
  // A mixture of experts; dense_layers of the layers have an MLP of `ffn` instead.
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t expert_ffn = 0;
  std::int64_t shared_ffn = 0;  // of the experts that every token passes
  std::int64_t dense_layers = 0;
  std::int64_t attention_layers = 0;  // that attend to the whole sequence; 0: all
  // What the source says of the totals; where the shape is not a plain transformer's, they count instead of it.
  std::optional<std::int64_t> stated_params;
  std::optional<std::int64_t> stated_active;
  bool plain = true;  // a transformer whose parameters follow from the shape
};

// Parameters, without norms and biases.
struct ParamCounts {
  double body = 0;         // all layers
  double active_body = 0;  // what one token passes
  double embedding = 0;
  double head = 0;   // 0 where tied
  double layer = 0;  // the largest layer

  [[nodiscard]] double total() const { return body + embedding + head; }
};

ParamCounts CountParams(const ModelFacts& facts);

// Width of the queries (heads x head_dim) and of the keys or values (kv_heads x head_dim).
double QueryWidth(const ModelFacts& facts);
double KvWidth(const ModelFacts& facts);

// An error that names what is missing, negative or impossible, or a stated parameter count that the shape contradicts
// by more than 2 %.
Result<void> CheckFacts(const ModelFacts& facts);

// The linear layers that a LoRA may target.
enum class LoraTarget : std::uint8_t { kQuery, kKey, kValue, kOutput, kGate, kUp, kDown, kFusedQkv };

// Input and output width of a target; 0 where the model has no such layer.
struct LinearShape {
  double in = 0;
  double out = 0;
};
LinearShape ShapeOf(const ModelFacts& facts, LoraTarget target);
// By the names that training programs use ("q_proj", "c_attn", "w1"); absent for one that is no linear layer known.
std::optional<LoraTarget> TargetNamed(std::string_view name);

// Parameters of a LoRA of rank `rank` on `targets` of every layer: sum of rank x (in + out).
double LoraParams(const ModelFacts& facts, double rank, std::span<const LoraTarget> targets);

// Bytes of keys and values of one token at `bytes` a number: 2 x layers x key and value heads x their width.
double KvCacheBytesPerToken(const ModelFacts& facts, double bytes);

}  // namespace idleburn
