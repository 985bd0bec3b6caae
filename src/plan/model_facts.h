#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace idleburn {

// The shape of a language model, and what follows from it: parameters, the layers that a LoRA may target, the cache of
// keys and values. Memory and time are worked out from this shape and never from a parameter count alone, because two
// models of one size can differ in both by a factor.

// What is known of how a model is built.
enum class ModelKind : std::uint8_t {
  // A decoder-only transformer: a token attends to those before it.
  kDecoder,
  // A transformer whose tokens attend to all others: BERT, ViT.
  kEncoder,
  // Only the parameter count is known: diffusion, convolutions, speech.
  kCountOnly,
};

// The shape of a transformer, from which memory and FLOPs follow. A 0 stands for "not known".
struct ModelFacts {
  std::string name;
  ModelKind kind = ModelKind::kDecoder;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  // Fewer than `heads` with grouped-query attention.
  std::int64_t kv_heads = 0;
  // 0 stands for hidden / heads.
  std::int64_t head_dim = 0;
  // The width of the MLP.
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  // Whether an MLP has three matrices (SwiGLU) and the norm is RMSNorm. Otherwise two, and LayerNorm.
  bool gated = true;
  // Whether the head is the embedding.
  bool tied = false;
  // For a mixture of experts. Of the layers, dense_layers have an MLP of `ffn` instead.
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t expert_ffn = 0;
  // The width of the experts that every token passes.
  std::int64_t shared_ffn = 0;
  std::int64_t dense_layers = 0;
  // Layers that attend to the whole sequence; 0 stands for all.
  std::int64_t attention_layers = 0;
  // Parameters that no matrix of the layers, embedding or head accounts for: norms, biases, positions, a vision tower.
  std::int64_t other_params = 0;
  // Parameters of a layer's attention where the widths do not give them (latent attention); 0 stands for the widths.
  std::int64_t attention_params = 0;
  // Numbers that latent attention caches for a token and layer; 0 stands for keys and values.
  std::int64_t cache_width = 0;
  // Tokens of every sample, where the model fixes them: 197 of an image of 224 px. 0 stands for any length.
  std::int64_t tokens = 0;
  // Totals as the source states them. They replace what follows from the shape where that is not a plain transformer's.
  std::optional<std::int64_t> stated_params;
  std::optional<std::int64_t> stated_active;
  // Whether this is a transformer whose parameters follow from the shape.
  bool plain = true;
};

// Numbers of parameters.
struct ParamCounts {
  // Parameters of all layers.
  double body = 0;
  // Of those, the ones that one token passes.
  double active_body = 0;
  double embedding = 0;
  // 0 where it is tied to the embedding.
  double head = 0;
  // The largest layer, which matters where layers are gathered one at a time.
  double layer = 0;
  // Of the body, the experts that tokens are sent to.
  double experts = 0;
  // Norms, biases, positions, towers.
  double other = 0;

  [[nodiscard]] double total() const { return body + embedding + head + other; }
};

// Counts the parameters of the shape. Where the model is no plain transformer, the totals that its authors state count
// instead.
ParamCounts CountParams(const ModelFacts& facts);

// The width of the queries (heads x head_dim), and that of the keys or of the values (kv_heads x head_dim).
double QueryWidth(const ModelFacts& facts);
double KvWidth(const ModelFacts& facts);

// Checks the facts. The error names what is missing, negative or impossible, or a stated parameter count that the shape
// contradicts by more than 2 %.
Result<void> CheckFacts(const ModelFacts& facts);

// The linear layers that a LoRA may target.
enum class LoraTarget : std::uint8_t { kQuery, kKey, kValue, kOutput, kGate, kUp, kDown, kFusedQkv };

// All linear layers of a block, with queries, keys and values apart, or fused into one.
inline constexpr std::array kLinearLayers = {LoraTarget::kQuery,  LoraTarget::kKey,  LoraTarget::kValue,
                                             LoraTarget::kOutput, LoraTarget::kGate, LoraTarget::kUp,
                                             LoraTarget::kDown};
inline constexpr std::array kFusedLayers = {LoraTarget::kFusedQkv, LoraTarget::kOutput, LoraTarget::kGate,
                                            LoraTarget::kUp, LoraTarget::kDown};

// Input and output width of a target; 0 where the model has no such layer.
struct LinearShape {
  double in = 0;
  double out = 0;
};

// The two widths of the weight matrix of a target, in numbers.
LinearShape ShapeOf(const ModelFacts& facts, LoraTarget target);
// The layer that training programs call so ("q_proj", "c_attn", "w1"). Absent for a name of no linear layer.
std::optional<LoraTarget> TargetNamed(std::string_view name);

// The parameters of a LoRA of that rank on the targets in every layer: the sum of rank x (in + out).
double LoraParams(const ModelFacts& facts, double rank, std::span<const LoraTarget> targets);

// Bytes of keys and values of one token at `bytes` a number: 2 x layers x key and value heads x their width.
double KvCacheBytesPerToken(const ModelFacts& facts, double bytes);

}  // namespace idleburn
