#include "plan/model_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "text/figures.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Counts of a shape, its check, and the built-in table of models. The table exists so that a plan can name a model
// without network access; a config.json describes every other one. Shapes are copied from the authors' config.json,
// never derived from a parameter count.

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
  std::string missing;
  for (const Named& size : kSizes) {
    const std::int64_t value = facts.*size.value;
    if (value < 0 || value > kMostSize) {
      return FailUsage(
          fmt::format("{}: {} {} is not a size; write a whole number from 1", NameOf(facts), size.name, value));
    }
    if (size.required && value == 0) missing += (missing.empty() ? "" : ", ") + std::string(size.name);
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
  const double attention = 2 * h * QueryWidth(facts) + 2 * h * KvWidth(facts);
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
  return 2 * D(facts.layers) * KvWidth(facts) * bytes;
}

namespace {

// Names for the switches in the rows below.
constexpr bool kGated = true;
constexpr bool kTwoMatrix = false;
constexpr bool kTied = true;
constexpr bool kUntied = false;

// A model without experts.
struct DenseRow {
  std::string_view names;  // "|" between names, as people write them, in lower case
  std::int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
  bool gated, tied;
};

// The config.json that the model's authors publish. Two-matrix models have LayerNorm.
constexpr std::array<DenseRow, 63> kDense = {{
    {"llama-2-7b|llama-7b", 32, 4096, 32, 32, 0, 11008, 32000, kGated, kUntied},
    {"llama-2-13b|llama-13b", 40, 5120, 40, 40, 0, 13824, 32000, kGated, kUntied},
    {"llama-2-70b", 80, 8192, 64, 8, 0, 28672, 32000, kGated, kUntied},
    {"llama-3-8b|llama-3.1-8b", 32, 4096, 32, 8, 0, 14336, 128256, kGated, kUntied},
    {"llama-3-70b|llama-3.1-70b|llama-3.3-70b", 80, 8192, 64, 8, 0, 28672, 128256, kGated, kUntied},
    {"llama-3.1-405b", 126, 16384, 128, 8, 0, 53248, 128256, kGated, kUntied},
    {"llama-3.2-1b", 16, 2048, 32, 8, 64, 8192, 128256, kGated, kTied},
    {"llama-3.2-3b", 28, 3072, 24, 8, 128, 8192, 128256, kGated, kTied},
    {"mistral-7b|mistral-7b-v0.1", 32, 4096, 32, 8, 0, 14336, 32000, kGated, kUntied},
    {"mistral-7b-v0.3", 32, 4096, 32, 8, 0, 14336, 32768, kGated, kUntied},
    {"yi-34b", 60, 7168, 56, 8, 0, 20480, 64000, kGated, kUntied},
    {"yi-6b", 32, 4096, 32, 4, 0, 11008, 64000, kGated, kUntied},
    {"qwen-1.8b", 24, 2048, 16, 16, 0, 5504, 151936, kGated, kUntied},
    {"qwen-7b", 32, 4096, 32, 32, 0, 11008, 151936, kGated, kUntied},
    {"qwen-14b", 40, 5120, 40, 40, 0, 13696, 152064, kGated, kUntied},
    {"qwen-72b", 80, 8192, 64, 64, 0, 24576, 152064, kGated, kUntied},
    {"qwen2-0.5b|qwen2.5-0.5b", 24, 896, 14, 2, 0, 4864, 151936, kGated, kTied},
    {"qwen2-1.5b|qwen2.5-1.5b", 28, 1536, 12, 2, 0, 8960, 151936, kGated, kTied},
    {"qwen2.5-3b", 36, 2048, 16, 2, 0, 11008, 151936, kGated, kTied},
    {"qwen2-7b|qwen2.5-7b", 28, 3584, 28, 4, 0, 18944, 152064, kGated, kUntied},
    {"qwen2.5-14b", 48, 5120, 40, 8, 0, 13824, 152064, kGated, kUntied},
    {"qwen2.5-32b", 64, 5120, 40, 8, 0, 27648, 152064, kGated, kUntied},
    {"qwen2-72b|qwen2.5-72b", 80, 8192, 64, 8, 0, 29568, 152064, kGated, kUntied},
    {"qwen3-8b", 36, 4096, 32, 8, 128, 12288, 151936, kGated, kUntied},
    {"llama-30b|llama-33b", 60, 6656, 52, 52, 0, 17920, 32000, kGated, kUntied},
    {"llama-65b", 80, 8192, 64, 64, 0, 22016, 32000, kGated, kUntied},
    {"tinyllama-1.1b|tinyllama", 22, 2048, 32, 4, 0, 5632, 32000, kGated, kUntied},
    {"mistral-nemo|mistral-nemo-12b", 40, 5120, 32, 8, 128, 14336, 131072, kGated, kUntied},
    {"gemma-2b", 18, 2048, 8, 1, 256, 16384, 256000, kGated, kTied},
    {"gemma-7b", 28, 3072, 16, 16, 256, 24576, 256000, kGated, kTied},
    {"gemma-2-2b", 26, 2304, 8, 4, 256, 9216, 256000, kGated, kTied},
    {"gemma-2-9b", 42, 3584, 16, 8, 256, 14336, 256000, kGated, kTied},
    {"gemma-2-27b", 46, 4608, 32, 16, 128, 36864, 256000, kGated, kTied},
    {"phi-3-mini|phi-3-mini-4k|phi-3-mini-128k|phi-3.5-mini", 32, 3072, 32, 32, 0, 8192, 32064, kGated, kUntied},
    {"phi-4", 40, 5120, 40, 10, 0, 17920, 100352, kGated, kUntied},
    {"qwen1.5-1.8b", 24, 2048, 16, 16, 0, 5504, 151936, kGated, kUntied},
    {"qwen1.5-7b", 32, 4096, 32, 32, 0, 11008, 151936, kGated, kUntied},
    {"qwen1.5-14b", 40, 5120, 40, 40, 0, 13696, 152064, kGated, kUntied},
    {"qwen1.5-72b", 80, 8192, 64, 64, 0, 24576, 152064, kGated, kUntied},
    {"qwen3-0.6b", 28, 1024, 16, 8, 128, 3072, 151936, kGated, kTied},
    {"qwen3-1.7b", 28, 2048, 16, 8, 128, 6144, 151936, kGated, kTied},
    {"qwen3-4b", 36, 2560, 32, 8, 128, 9728, 151936, kGated, kTied},
    {"qwen3-14b", 40, 5120, 40, 8, 128, 17408, 151936, kGated, kUntied},
    {"qwen3-32b", 64, 5120, 64, 8, 128, 25600, 151936, kGated, kUntied},
    {"gpt2", 12, 768, 12, 12, 0, 3072, 50257, kTwoMatrix, kTied},
    {"gpt2-xl", 48, 1600, 25, 25, 0, 6400, 50257, kTwoMatrix, kTied},
    {"gpt-j-6b", 28, 4096, 16, 16, 0, 16384, 50400, kTwoMatrix, kUntied},
    {"gpt-neox-20b", 44, 6144, 64, 64, 0, 24576, 50432, kTwoMatrix, kUntied},
    {"phi-1.5|phi-1.5-1.3b", 24, 2048, 32, 32, 0, 8192, 51200, kTwoMatrix, kUntied},
    {"phi-2", 32, 2560, 32, 32, 0, 10240, 51200, kTwoMatrix, kUntied},
    {"stablelm-alpha-3b|stablelm-base-alpha-3b", 16, 4096, 32, 32, 0, 16384, 50688, kTwoMatrix, kUntied},
    {"stablelm-alpha-7b|stablelm-base-alpha-7b", 16, 6144, 48, 48, 0, 24576, 50432, kTwoMatrix, kUntied},
    {"falcon-7b", 32, 4544, 71, 1, 64, 18176, 65024, kTwoMatrix, kTied},
    {"falcon-40b", 60, 8192, 128, 8, 64, 32768, 65024, kTwoMatrix, kTied},
    {"mpt-125m", 12, 768, 12, 12, 0, 3072, 50368, kTwoMatrix, kTied},
    {"mpt-350m", 24, 1024, 16, 16, 0, 4096, 50368, kTwoMatrix, kTied},
    {"mpt-760m", 24, 1536, 12, 12, 0, 6144, 50368, kTwoMatrix, kTied},
    {"mpt-1b", 24, 2048, 16, 16, 0, 8192, 50368, kTwoMatrix, kTied},
    {"mpt-3b", 32, 2560, 20, 20, 0, 10240, 50368, kTwoMatrix, kTied},
    {"mpt-7b", 32, 4096, 32, 32, 0, 16384, 50368, kTwoMatrix, kTied},
    {"mpt-13b", 40, 5120, 40, 40, 0, 20480, 50368, kTwoMatrix, kTied},
    {"mpt-30b", 48, 7168, 56, 56, 0, 28672, 50368, kTwoMatrix, kTied},
    {"mpt-70b", 80, 8192, 64, 64, 0, 32768, 50368, kTwoMatrix, kTied},  // of llm-foundry: 64.9 B
}};

// A mixture of experts.
struct ExpertRow {
  std::string_view names;
  std::int64_t layers, hidden, heads, kv_heads, head_dim, vocab;
  std::int64_t experts, per_token, expert_ffn, shared_ffn, dense_layers, dense_ffn;
  bool tied;
  std::int64_t stated, active;  // 0: they follow from the shape
  std::int64_t attention_layers = 0;
};

// Mixtures of experts. Where attention is not plain (latent, Mamba), the authors' totals count.
constexpr std::array<ExpertRow, 9> kExperts = {{
    {"mixtral-8x7b|mixtral-8x7b-v0.1", 32, 4096, 32, 8, 0, 32000, 8, 2, 14336, 0, 0, 0, kUntied, 0, 0},
    {"deepseek-v3", 61, 7168, 128, 128, 160, 129280, 256, 8, 2048, 2048, 3, 18432, kUntied, 671'000'000'000,
     37'000'000'000},
    {"gpt-oss-120b", 36, 2880, 64, 8, 64, 201088, 128, 4, 2880, 0, 0, 0, kUntied, 116'830'000'000, 5'130'000'000, 18},
    {"qwen3-30b-a3b", 48, 2048, 32, 4, 128, 151936, 128, 8, 768, 0, 0, 0, kUntied, 0, 0},
    {"qwen3-235b-a22b", 94, 4096, 64, 4, 128, 151936, 128, 8, 1536, 0, 0, 0, kUntied, 0, 0},
    {"nemotron-3-nano", 52, 2688, 32, 2, 128, 131072, 128, 6, 1856, 3712, 29, 0, kUntied, 31'600'000'000, 3'600'000'000,
     6},
    {"nemotron-3.5-lightning", 52, 2688, 32, 2, 128, 131072, 128, 6, 1856, 3712, 29, 0, kUntied, 31'600'000'000,
     3'600'000'000, 6},
    {"nemotron-3-super", 88, 4096, 32, 2, 128, 131072, 512, 22, 2688, 5376, 48, 0, kUntied, 120'600'000'000,
     12'700'000'000, 8},
    {"nemotron-3-ultra", 108, 8192, 64, 2, 128, 131072, 512, 22, 5120, 10240, 60, 0, kUntied, 550'000'000'000,
     55'000'000'000, 12},
}};

// A name without its owner, letters and digits only. Meta puts its own name before Llama.
std::string Plain(std::string_view name) {
  const std::size_t slash = name.find('/');  // of "owner/model"
  if (slash != std::string_view::npos && name.find(' ') == std::string_view::npos) name.remove_prefix(slash + 1);
  std::string plain = Squash(name);
  return plain.starts_with("metallama") ? plain.substr(4) : plain;
}

// What follows a model's name without changing its shape.
std::string WithoutSuffix(std::string name) {
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view suffix :
         {"bnb4bit", "hf", "instruct", "chat", "base", "it", "tokendrop", "womtp", "int4"}) {
      if (name.size() > suffix.size() && name.ends_with(suffix)) {
        name.resize(name.size() - suffix.size());
        cut = true;
      }
    }
  }
  return name;
}

// Whether `plain` is the name without its dashes and dots. Nothing is copied, because a table of configurations asks
// for every row.
bool IsPlainOf(std::string_view name, std::string_view plain) {
  for (const char c : name) {
    if (!IsAlnum(c)) continue;
    if (plain.empty() || plain.front() != c) return false;
    plain.remove_prefix(1);
  }
  return plain.empty();
}

// Whether the plain name is one of the row's.
bool IsAmong(std::string_view names, std::string_view plain) {
  while (!names.empty()) {
    const std::size_t bar = std::min(names.find('|'), names.size());
    if (IsPlainOf(names.substr(0, bar), plain)) return true;
    names.remove_prefix(std::min(bar + 1, names.size()));
  }
  return false;
}

ModelFacts FactsOfRow(const DenseRow& row, std::string_view name) {
  ModelFacts facts;
  facts.name = name;
  facts.layers = row.layers;
  facts.hidden = row.hidden;
  facts.heads = row.heads;
  facts.kv_heads = row.kv_heads;
  facts.head_dim = row.head_dim;
  facts.ffn = row.ffn;
  facts.vocab = row.vocab;
  facts.gated = row.gated;
  facts.tied = row.tied;
  return facts;
}

ModelFacts FactsOfRow(const ExpertRow& row, std::string_view name) {
  ModelFacts facts = FactsOfRow(DenseRow{row.names, row.layers, row.hidden, row.heads, row.kv_heads, row.head_dim,
                                         row.dense_ffn, row.vocab, kGated, row.tied},
                                name);
  facts.experts = row.experts;
  facts.experts_per_token = row.per_token;
  facts.expert_ffn = row.expert_ffn;
  facts.shared_ffn = row.shared_ffn;
  facts.dense_layers = row.dense_layers;
  facts.attention_layers = row.attention_layers;
  if (row.stated > 0) {
    facts.stated_params = row.stated;
    facts.stated_active = row.active;
    facts.plain = false;
  }
  return facts;
}

}  // namespace

std::optional<ModelFacts> FindModel(std::string_view name) {
  const std::string whole = Plain(name);
  // First as written, then without words for tuning that leave the shape as it is.
  for (const std::string& wanted : {whole, WithoutSuffix(whole)}) {
    for (const DenseRow& row : kDense) {
      if (IsAmong(row.names, wanted)) return FactsOfRow(row, name);
    }
    for (const ExpertRow& row : kExperts) {
      if (IsAmong(row.names, wanted)) return FactsOfRow(row, name);
    }
  }
  return std::nullopt;
}

std::string PlainModelName(std::string_view name) { return WithoutSuffix(Plain(name)); }

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  const auto add = [&names](std::string_view all) {
    for (const std::string_view name : Split(all, '|')) names.emplace_back(name);
  };
  for (const DenseRow& row : kDense) add(row.names);
  for (const ExpertRow& row : kExperts) add(row.names);
  return names;
}

}  // namespace idleburn
