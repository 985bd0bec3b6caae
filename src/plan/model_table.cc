#include "plan/model_table.h"

#include <algorithm>
#include <array>

#include "text/strings.h"

namespace idleburn {
namespace {

constexpr bool kGated = true;
constexpr bool kTwoMatrix = false;
constexpr bool kTied = true;
constexpr bool kUntied = false;

struct DenseRow {
  std::string_view names;  // "|" between spellings, letters and digits only, in lower case
  std::int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
  bool gated, tied;
};

// The config.json that the model's authors publish. Two-matrix models have LayerNorm.
constexpr std::array<DenseRow, 63> kDense = {{
    {"llama27b|llama7b", 32, 4096, 32, 32, 0, 11008, 32000, kGated, kUntied},
    {"llama213b|llama13b", 40, 5120, 40, 40, 0, 13824, 32000, kGated, kUntied},
    {"llama270b", 80, 8192, 64, 8, 0, 28672, 32000, kGated, kUntied},
    {"llama38b|llama318b", 32, 4096, 32, 8, 0, 14336, 128256, kGated, kUntied},
    {"llama370b|llama3170b|llama3370b", 80, 8192, 64, 8, 0, 28672, 128256, kGated, kUntied},
    {"llama31405b", 126, 16384, 128, 8, 0, 53248, 128256, kGated, kUntied},
    {"llama321b", 16, 2048, 32, 8, 64, 8192, 128256, kGated, kTied},
    {"llama323b", 28, 3072, 24, 8, 128, 8192, 128256, kGated, kTied},
    {"mistral7b|mistral7bv01", 32, 4096, 32, 8, 0, 14336, 32000, kGated, kUntied},
    {"mistral7bv03", 32, 4096, 32, 8, 0, 14336, 32768, kGated, kUntied},
    {"yi34b", 60, 7168, 56, 8, 0, 20480, 64000, kGated, kUntied},
    {"yi6b", 32, 4096, 32, 4, 0, 11008, 64000, kGated, kUntied},
    {"qwen18b", 24, 2048, 16, 16, 0, 5504, 151936, kGated, kUntied},
    {"qwen7b", 32, 4096, 32, 32, 0, 11008, 151936, kGated, kUntied},
    {"qwen14b", 40, 5120, 40, 40, 0, 13696, 152064, kGated, kUntied},
    {"qwen72b", 80, 8192, 64, 64, 0, 24576, 152064, kGated, kUntied},
    {"qwen205b|qwen2505b", 24, 896, 14, 2, 0, 4864, 151936, kGated, kTied},
    {"qwen215b|qwen2515b", 28, 1536, 12, 2, 0, 8960, 151936, kGated, kTied},
    {"qwen253b", 36, 2048, 16, 2, 0, 11008, 151936, kGated, kTied},
    {"qwen27b|qwen257b", 28, 3584, 28, 4, 0, 18944, 152064, kGated, kUntied},
    {"qwen2514b", 48, 5120, 40, 8, 0, 13824, 152064, kGated, kUntied},
    {"qwen2532b", 64, 5120, 40, 8, 0, 27648, 152064, kGated, kUntied},
    {"qwen272b|qwen2572b", 80, 8192, 64, 8, 0, 29568, 152064, kGated, kUntied},
    {"qwen38b", 36, 4096, 32, 8, 128, 12288, 151936, kGated, kUntied},
    {"llama30b|llama33b", 60, 6656, 52, 52, 0, 17920, 32000, kGated, kUntied},
    {"llama65b", 80, 8192, 64, 64, 0, 22016, 32000, kGated, kUntied},
    {"tinyllama11b|tinyllama", 22, 2048, 32, 4, 0, 5632, 32000, kGated, kUntied},
    {"mistralnemo|mistralnemo12b", 40, 5120, 32, 8, 128, 14336, 131072, kGated, kUntied},
    {"gemma2b", 18, 2048, 8, 1, 256, 16384, 256000, kGated, kTied},
    {"gemma7b", 28, 3072, 16, 16, 256, 24576, 256000, kGated, kTied},
    {"gemma22b", 26, 2304, 8, 4, 256, 9216, 256000, kGated, kTied},
    {"gemma29b", 42, 3584, 16, 8, 256, 14336, 256000, kGated, kTied},
    {"gemma227b", 46, 4608, 32, 16, 128, 36864, 256000, kGated, kTied},
    {"phi3mini|phi3mini4k|phi3mini128k|phi35mini", 32, 3072, 32, 32, 0, 8192, 32064, kGated, kUntied},
    {"phi4", 40, 5120, 40, 10, 0, 17920, 100352, kGated, kUntied},
    {"qwen1518b", 24, 2048, 16, 16, 0, 5504, 151936, kGated, kUntied},
    {"qwen157b", 32, 4096, 32, 32, 0, 11008, 151936, kGated, kUntied},
    {"qwen1514b", 40, 5120, 40, 40, 0, 13696, 152064, kGated, kUntied},
    {"qwen1572b", 80, 8192, 64, 64, 0, 24576, 152064, kGated, kUntied},
    {"qwen306b", 28, 1024, 16, 8, 128, 3072, 151936, kGated, kTied},
    {"qwen317b", 28, 2048, 16, 8, 128, 6144, 151936, kGated, kTied},
    {"qwen34b", 36, 2560, 32, 8, 128, 9728, 151936, kGated, kTied},
    {"qwen314b", 40, 5120, 40, 8, 128, 17408, 151936, kGated, kUntied},
    {"qwen332b", 64, 5120, 64, 8, 128, 25600, 151936, kGated, kUntied},
    {"gpt2", 12, 768, 12, 12, 0, 3072, 50257, kTwoMatrix, kTied},
    {"gpt2xl", 48, 1600, 25, 25, 0, 6400, 50257, kTwoMatrix, kTied},
    {"gptj6b", 28, 4096, 16, 16, 0, 16384, 50400, kTwoMatrix, kUntied},
    {"gptneox20b", 44, 6144, 64, 64, 0, 24576, 50432, kTwoMatrix, kUntied},
    {"phi15|phi1513b", 24, 2048, 32, 32, 0, 8192, 51200, kTwoMatrix, kUntied},
    {"phi2", 32, 2560, 32, 32, 0, 10240, 51200, kTwoMatrix, kUntied},
    {"stablelmalpha3b|stablelmbasealpha3b", 16, 4096, 32, 32, 0, 16384, 50688, kTwoMatrix, kUntied},
    {"stablelmalpha7b|stablelmbasealpha7b", 16, 6144, 48, 48, 0, 24576, 50432, kTwoMatrix, kUntied},
    {"falcon7b", 32, 4544, 71, 1, 64, 18176, 65024, kTwoMatrix, kTied},
    {"falcon40b", 60, 8192, 128, 8, 64, 32768, 65024, kTwoMatrix, kTied},
    {"mpt125m", 12, 768, 12, 12, 0, 3072, 50368, kTwoMatrix, kTied},
    {"mpt350m", 24, 1024, 16, 16, 0, 4096, 50368, kTwoMatrix, kTied},
    {"mpt760m", 24, 1536, 12, 12, 0, 6144, 50368, kTwoMatrix, kTied},
    {"mpt1b", 24, 2048, 16, 16, 0, 8192, 50368, kTwoMatrix, kTied},
    {"mpt3b", 32, 2560, 20, 20, 0, 10240, 50368, kTwoMatrix, kTied},
    {"mpt7b", 32, 4096, 32, 32, 0, 16384, 50368, kTwoMatrix, kTied},
    {"mpt13b", 40, 5120, 40, 40, 0, 20480, 50368, kTwoMatrix, kTied},
    {"mpt30b", 48, 7168, 56, 56, 0, 28672, 50368, kTwoMatrix, kTied},
    {"mpt70b", 80, 8192, 64, 64, 0, 32768, 50368, kTwoMatrix, kTied},  // of llm-foundry: 64.9 B
}};

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
    {"mixtral8x7b|mixtral8x7bv01", 32, 4096, 32, 8, 0, 32000, 8, 2, 14336, 0, 0, 0, kUntied, 0, 0},
    {"deepseekv3", 61, 7168, 128, 128, 160, 129280, 256, 8, 2048, 2048, 3, 18432, kUntied, 671'000'000'000,
     37'000'000'000},
    {"gptoss120b", 36, 2880, 64, 8, 64, 201088, 128, 4, 2880, 0, 0, 0, kUntied, 116'830'000'000, 5'130'000'000, 18},
    {"qwen330ba3b", 48, 2048, 32, 4, 128, 151936, 128, 8, 768, 0, 0, 0, kUntied, 0, 0},
    {"qwen3235ba22b", 94, 4096, 64, 4, 128, 151936, 128, 8, 1536, 0, 0, 0, kUntied, 0, 0},
    {"nemotron3nano", 52, 2688, 32, 2, 128, 131072, 128, 6, 1856, 3712, 29, 0, kUntied, 31'600'000'000, 3'600'000'000,
     6},
    {"nemotron35lightning", 52, 2688, 32, 2, 128, 131072, 128, 6, 1856, 3712, 29, 0, kUntied, 31'600'000'000,
     3'600'000'000, 6},
    {"nemotron3super", 88, 4096, 32, 2, 128, 131072, 512, 22, 2688, 5376, 48, 0, kUntied, 120'600'000'000,
     12'700'000'000, 8},
    {"nemotron3ultra", 108, 8192, 64, 2, 128, 131072, 512, 22, 5120, 10240, 60, 0, kUntied, 550'000'000'000,
     55'000'000'000, 12},
}};

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

bool IsAmong(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t bar = std::min(names.find('|'), names.size());
    if (names.substr(0, bar) == name) return true;
    names.remove_prefix(std::min(bar + 1, names.size()));
  }
  return false;
}

ModelFacts FactsOf(const DenseRow& row, std::string_view name) {
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

ModelFacts FactsOf(const ExpertRow& row, std::string_view name) {
  ModelFacts facts = FactsOf(DenseRow{row.names, row.layers, row.hidden, row.heads, row.kv_heads, row.head_dim,
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
  for (const std::string& wanted : {whole, WithoutSuffix(whole)}) {
    for (const DenseRow& row : kDense) {
      if (IsAmong(row.names, wanted)) return FactsOf(row, name);
    }
    for (const ExpertRow& row : kExperts) {
      if (IsAmong(row.names, wanted)) return FactsOf(row, name);
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
