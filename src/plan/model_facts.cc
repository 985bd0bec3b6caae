#include "plan/model_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "text/figures.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Counts of a shape, and its check.

namespace {

constexpr double kContradiction = 0.02;  // docs/plan.md: a stated count that the shape contradicts by more is an error
constexpr std::int64_t kMostSize = 100'000'000;  // of any width or count: beyond it a unit was mistaken

// Sizes are whole numbers; the formulas are not.
double D(std::int64_t value) { return static_cast<double>(value); }

// How many weight matrices an MLP has.
double Matrices(const ModelFacts& facts) { return facts.gated ? 3 : 2; }

// What error messages call the model.
std::string NameOf(const ModelFacts& facts) { return facts.name.empty() ? "the model" : "model " + facts.name; }

// A size by the name that people are asked for.
struct Named {
  const char* name;
  std::int64_t ModelFacts::*value;
  bool required;
};

constexpr std::array<Named, 12> kSizes = {{
    {"layers", &ModelFacts::layers, true},
    {"hidden", &ModelFacts::hidden, true},
    {"heads", &ModelFacts::heads, true},
    {"vocab", &ModelFacts::vocab, true},
    {"kv heads", &ModelFacts::kv_heads, false},
    {"head_dim", &ModelFacts::head_dim, false},
    {"ffn", &ModelFacts::ffn, false},
    {"experts", &ModelFacts::experts, false},
    {"experts per token", &ModelFacts::experts_per_token, false},
    {"expert ffn", &ModelFacts::expert_ffn, false},
    {"shared ffn", &ModelFacts::shared_ffn, false},
    {"dense layers", &ModelFacts::dense_layers, false},
}};

// Every size must be possible, and those that every model has must be given.
Result<void> CheckSizes(const ModelFacts& facts) {
  if (facts.kind == ModelKind::kCountOnly) return {};
  std::string missing;
  for (const Named& size : kSizes) {
    const std::int64_t value = facts.*size.value;
    if (value < 0 || value > kMostSize) {
      return FailUsage(
          fmt::format("{}: {} {} is not a size; write a whole number from 1", NameOf(facts), size.name, value));
    }
    // Images have no vocabulary.
    const bool wordless = facts.tokens > 0 && size.value == &ModelFacts::vocab;
    if (size.required && value == 0 && !wordless) missing += (missing.empty() ? "" : ", ") + std::string(size.name);
  }
  if (facts.ffn == 0 && facts.expert_ffn == 0) missing += missing.empty() ? "ffn" : ", ffn";
  if (missing.empty()) return {};
  return FailUsage(fmt::format("{}: {} not given; give the values, a config.json, or a model of the built-in table",
                               NameOf(facts), missing));
}

}  // namespace

double QueryWidth(const ModelFacts& facts) {
  return facts.head_dim > 0 ? D(facts.heads) * D(facts.head_dim) : D(facts.hidden);
}

double KvWidth(const ModelFacts& facts) {
  if (facts.kv_heads == 0 || facts.heads == 0) return QueryWidth(facts);
  return QueryWidth(facts) * D(facts.kv_heads) / D(facts.heads);
}

ParamCounts CountParams(const ModelFacts& facts) {
  ParamCounts counts;
  const double h = D(facts.hidden);
  // Queries and output are as wide as each other, keys and values too.
  const double by_width = 2 * h * QueryWidth(facts) + 2 * h * KvWidth(facts);
  const double attention = facts.attention_params > 0 ? D(facts.attention_params) : by_width;
  const double dense = attention + Matrices(facts) * h * D(facts.ffn);
  // What every token passes in a layer with experts: attention, shared experts and the router.
  const double shared = attention + h * (Matrices(facts) * D(facts.shared_ffn) + D(facts.experts));
  const double expert = Matrices(facts) * h * D(facts.expert_ffn);
  const double dense_layers = facts.experts > 0 ? D(facts.dense_layers) : D(facts.layers);
  const double sparse_layers = D(facts.layers) - dense_layers;
  counts.body = dense_layers * dense + sparse_layers * (shared + D(facts.experts) * expert);
  counts.active_body = dense_layers * dense + sparse_layers * (shared + D(facts.experts_per_token) * expert);
  counts.layer = sparse_layers > 0 ? shared + D(facts.experts) * expert : dense;
  counts.embedding = D(facts.vocab) * h;
  counts.head = facts.tied ? 0 : counts.embedding;
  counts.experts = sparse_layers * D(facts.experts) * expert;
  counts.other = D(facts.other_params);
  // Latent attention and state-space layers do not follow from these sizes, so the stated totals win.
  if (!facts.plain && facts.stated_params) {
    counts.body = std::max(0.0, D(*facts.stated_params) - counts.embedding - counts.head);
    counts.active_body = facts.stated_active ? std::max(0.0, D(*facts.stated_active) - counts.head) : counts.body;
    counts.layer = counts.body / std::max(1.0, D(facts.layers));
  }
  return counts;
}

Result<void> CheckFacts(const ModelFacts& facts) {
  TRY(CheckSizes(facts));
  if (facts.kv_heads > 0 && facts.heads % facts.kv_heads != 0) {
    return FailUsage(fmt::format("{}: {} heads cannot share {} kv heads; one divides the other", NameOf(facts),
                                 facts.heads, facts.kv_heads));
  }
  if (facts.experts_per_token > facts.experts) {
    return FailUsage(
        fmt::format("{}: {} experts per token of {} experts", NameOf(facts), facts.experts_per_token, facts.experts));
  }
  if (facts.dense_layers > facts.layers) {
    return FailUsage(fmt::format("{}: {} dense layers of {} layers", NameOf(facts), facts.dense_layers, facts.layers));
  }
  // A stated count is checked only where the shape can contradict it.
  if (!facts.stated_params || !facts.plain) return {};
  const double counted = CountParams(facts).total();
  const double stated = D(*facts.stated_params);
  if (stated <= 0) return FailUsage(fmt::format("{}: {} parameters; give a count above 0", NameOf(facts), stated));
  if (std::abs(counted - stated) <= kContradiction * stated) return {};
  return FailUsage(fmt::format(
      "{}: you give {} B parameters, but its shape has {} B ({}); one of them is wrong: check "
      "layers, hidden, ffn, vocab, kv heads, or leave the count out",
      NameOf(facts), ThreeDigits(stated / 1e9), ThreeDigits(counted / 1e9), SignedPercent(counted / stated - 1)));
}

LinearShape ShapeOf(const ModelFacts& facts, LoraTarget target) {
  const double h = D(facts.hidden);
  const double q = QueryWidth(facts);
  const double kv = KvWidth(facts);
  // In a model of experts alone, the MLP that a LoRA targets is an expert.
  const double f = facts.ffn > 0 ? D(facts.ffn) : D(facts.expert_ffn);
  switch (target) {
    case LoraTarget::kQuery:
      return {h, q};
    case LoraTarget::kKey:
    case LoraTarget::kValue:
      return {h, kv};
    case LoraTarget::kOutput:
      return {q, h};
    case LoraTarget::kGate:
      return facts.gated ? LinearShape{h, f} : LinearShape{};
    case LoraTarget::kUp:
      return {h, f};
    case LoraTarget::kDown:
      return {f, h};
    case LoraTarget::kFusedQkv:
      return {h, q + 2 * kv};
  }
  return {};
}

std::optional<LoraTarget> TargetNamed(std::string_view name) {
  struct Row {
    std::string_view name;
    LoraTarget target;
  };
  static constexpr std::array<Row, 22> kNames = {{
      {"q_proj", LoraTarget::kQuery},
      {"k_proj", LoraTarget::kKey},
      {"v_proj", LoraTarget::kValue},
      {"o_proj", LoraTarget::kOutput},
      {"output_proj", LoraTarget::kOutput},
      {"gate_proj", LoraTarget::kGate},
      {"up_proj", LoraTarget::kUp},
      {"down_proj", LoraTarget::kDown},
      {"c_attn", LoraTarget::kFusedQkv},
      {"qkv_proj", LoraTarget::kFusedQkv},
      {"query_key_value", LoraTarget::kFusedQkv},
      {"Wqkv", LoraTarget::kFusedQkv},
      {"attn", LoraTarget::kFusedQkv},
      {"out_proj", LoraTarget::kOutput},
      {"c_proj", LoraTarget::kDown},
      {"w1", LoraTarget::kGate},
      {"w2", LoraTarget::kDown},
      {"w3", LoraTarget::kUp},
      {"dense", LoraTarget::kOutput},
      {"dense_h_to_4h", LoraTarget::kUp},
      {"dense_4h_to_h", LoraTarget::kDown},
      {"fc1", LoraTarget::kUp},
  }};
  for (const Row& row : kNames) {
    if (EqualsIgnoreCase(row.name, name)) return row.target;
  }
  return std::nullopt;
}

double LoraParams(const ModelFacts& facts, double rank, std::span<const LoraTarget> targets) {
  double layer = 0;
  for (const LoraTarget target : targets) {
    const LinearShape shape = ShapeOf(facts, target);
    layer += rank * (shape.in + shape.out);
  }
  return layer * D(facts.layers);
}

double KvCacheBytesPerToken(const ModelFacts& facts, double bytes) {
  if (facts.cache_width > 0) return D(facts.layers) * D(facts.cache_width) * bytes;
  return 2 * D(facts.layers) * KvWidth(facts) * bytes;
}

}  // namespace idleburn
