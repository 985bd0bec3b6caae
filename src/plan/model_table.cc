#include "plan/model_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/result.h"
#include "text/command_line.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// The table is data, so that a model is added without code. Shapes are copied from the authors' config.json, never
// derived from a parameter count. The published count is kept beside the shape: what the matrices do not account for
// are norms, biases, positions and towers.

namespace embedded {
extern const std::string_view models_csv;
}  // namespace embedded

namespace {

// Words of a name that leave the shape as it is: how the model was tuned, and how its weights are stored.
constexpr auto kLeaveShape = std::to_array<std::string_view>(
    {"meta", "instruct", "chat",      "it",   "pt",   "base", "hf",  "sft", "dpo",  "thinking", "unsloth", "bnb",
     "4bit", "8bit",     "tokendrop", "gptq", "int4", "int8", "awq", "fp8", "gguf", "w",        "o",       "mtp"});

// Whether the word is the month of a release, 2407 to 2512.
bool IsMonth(std::string_view word) {
  const std::optional<std::int64_t> month = word.size() == 4 ? ParseInteger(word) : std::nullopt;
  return month && *month >= 2401 && *month <= 2612 && *month % 100 >= 1 && *month % 100 <= 12;
}

// The words of a name without its owner, in lower case.
std::vector<std::string> WordsOfModel(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos && name.find(' ') == std::string_view::npos) name.remove_prefix(slash + 1);
  std::vector<std::string> words(1);
  for (const char c : Lower(name)) {
    if (IsAlnum(c) || c == '.') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// The words as one key: letters and digits, with a dash only between two groups of digits.
std::string KeyOf(const std::vector<std::string>& words) {
  std::string key;
  for (const std::string& word : words) {
    bool gap = true;
    for (const char c : word) {
      if (c == '.') {
        gap = true;
        continue;
      }
      if (gap && !key.empty() && IsDigit(key.back()) && IsDigit(c)) key += '-';
      key += c;
      gap = false;
    }
  }
  return key;
}

// The key without words that leave the shape as it is. A name of nothing else keeps them.
std::string ShapeKeyOf(std::vector<std::string> words) {
  const std::vector<std::string> all = words;
  std::erase_if(words, [](const std::string& word) {
    return IsMonth(word) || std::find(kLeaveShape.begin(), kLeaveShape.end(), word) != kLeaveShape.end();
  });
  return KeyOf(words.empty() ? all : words);
}

// The table, its names in the order of its rows, and the way from a key to a row.
struct ModelTable {
  std::vector<ModelFacts> models;
  std::vector<std::string> names;
  std::map<std::string, std::size_t, std::less<>> by_name;
  std::map<std::string, std::size_t, std::less<>> by_shape;
};

// A cell as a whole number; 0 where it is empty.
std::int64_t SizeIn(const CsvTable& table, std::string_view column) {
  return ParseInteger(table.Cell(column)).value_or(0);
}

ModelFacts FactsOfRow(const CsvTable& table) {
  ModelFacts facts;
  const std::string_view kind = table.Cell("kind");
  facts.kind = kind == "encoder" ? ModelKind::kEncoder : kind == "parts" ? ModelKind::kCountOnly : ModelKind::kDecoder;
  struct Size {
    std::string_view column;
    std::int64_t ModelFacts::*value;
  };
  static constexpr auto kColumns = std::to_array<Size>({{"layers", &ModelFacts::layers},
                                                        {"hidden", &ModelFacts::hidden},
                                                        {"heads", &ModelFacts::heads},
                                                        {"kv_heads", &ModelFacts::kv_heads},
                                                        {"head_dim", &ModelFacts::head_dim},
                                                        {"ffn", &ModelFacts::ffn},
                                                        {"vocab", &ModelFacts::vocab},
                                                        {"experts", &ModelFacts::experts},
                                                        {"per_token", &ModelFacts::experts_per_token},
                                                        {"expert_ffn", &ModelFacts::expert_ffn},
                                                        {"shared_ffn", &ModelFacts::shared_ffn},
                                                        {"dense_layers", &ModelFacts::dense_layers},
                                                        {"attention", &ModelFacts::attention_params},
                                                        {"cache", &ModelFacts::cache_width},
                                                        {"attending", &ModelFacts::attention_layers},
                                                        {"tokens", &ModelFacts::tokens}});
  for (const Size& size : kColumns) facts.*size.value = SizeIn(table, size.column);
  facts.gated = table.Cell("gated") == "1";
  facts.tied = table.Cell("tied") == "1";
  const std::int64_t params = SizeIn(table, "params");
  if (params == 0) return facts;
  if (const std::int64_t active = SizeIn(table, "active"); active > 0) {
    // Layers of a state-space model: the sizes do not make up the counts.
    facts.plain = false;
    facts.stated_params = params;
    facts.stated_active = active;
    return facts;
  }
  facts.other_params = params - static_cast<std::int64_t>(CountParams(facts).total());
  return facts;
}

ModelTable ReadModels() {
  ModelTable models;
  StringSource in{std::string(embedded::models_csv), "data/plan/models.csv"};
  CsvTable table(in);
  CHECK(table.ReadHeader());
  while (true) {
    const Result<bool> more = table.Next();
    CHECK(more);
    if (!*more) return models;
    for (const std::string_view name : Split(table.Cell("names"), '|')) {
      const std::vector<std::string> words = WordsOfModel(name);
      models.names.emplace_back(name);
      models.by_name.try_emplace(KeyOf(words), models.models.size());
      models.by_shape.try_emplace(ShapeKeyOf(words), models.models.size());
    }
    models.models.push_back(FactsOfRow(table));
  }
}

const ModelTable& Models() {
  static const ModelTable kModels = ReadModels();
  return kModels;
}

// The parameters that a word states: "671b" has 671e9. 0 if it states none.
double SizeOfWord(std::string_view word) {
  if (word.size() < 2 || word.back() != 'b') return 0;
  const ScaledNumber number = ParseScaled(word.substr(0, word.size() - 1), 3);
  return number.fault == NumberFault::kNone ? static_cast<double>(number.value) * 1e6 : 0;
}

// The model of a name that states a size which the table's name leaves out: "DeepSeek V3 671B". The size must be right,
// because one name may belong to models of several sizes.
std::optional<std::size_t> RowWithSize(const ModelTable& table, const std::vector<std::string>& words) {
  constexpr double kRounding = 0.06;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const double size = SizeOfWord(words[i]);
    if (size <= 0 || words.size() < 2) continue;
    std::vector<std::string> rest = words;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const auto found = table.by_shape.find(ShapeKeyOf(rest));
    if (found == table.by_shape.end()) continue;
    if (std::abs(CountParams(table.models[found->second]).total() / size - 1) <= kRounding) return found->second;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ModelFacts> FindModel(std::string_view name) {
  const ModelTable& table = Models();
  const std::vector<std::string> words = WordsOfModel(name);
  // As written first: a name may contain a word that others leave out.
  const auto named = table.by_name.find(KeyOf(words));
  std::optional<std::size_t> row;
  if (named != table.by_name.end()) row = named->second;
  if (const auto shaped = table.by_shape.find(ShapeKeyOf(words)); !row && shaped != table.by_shape.end()) {
    row = shaped->second;
  }
  if (!row) row = RowWithSize(table, words);
  if (!row) return std::nullopt;
  ModelFacts facts = table.models[*row];
  facts.name = name;
  return facts;
}

std::string PlainModelName(std::string_view name) { return ShapeKeyOf(WordsOfModel(name)); }

NamedFormat FormatInName(std::string_view name) {
  NamedFormat format = NamedFormat::kNone;
  for (const std::string& word : WordsOfModel(name)) {
    if (word == "gguf") return NamedFormat::kInferenceOnly;
    if (word == "4bit" || word == "int4" || word == "awq") format = NamedFormat::kFourBits;
    if (word == "8bit" || word == "int8") format = NamedFormat::kEightBits;
    // GPTQ alone says 4 bits as a rule.
    if (word == "gptq" && format == NamedFormat::kNone) format = NamedFormat::kFourBits;
  }
  return format;
}

bool NamesExperts(std::string_view name) {
  const auto number = [](std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return IsDigit(c) || c == '.'; });
  };
  const std::vector<std::string> words = WordsOfModel(name);
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    if (word == "moe") return true;
    if (word.size() < 3 || word.back() != 'b') return false;
    word.remove_suffix(1);
    const std::size_t times = word.find('x');
    if (times != std::string_view::npos) return number(word.substr(0, times)) && number(word.substr(times + 1));
    return word.front() == 'a' && number(word.substr(1));
  });
}

std::vector<std::string> ModelNames() { return Models().names; }

std::vector<std::string> NearestModels(std::string_view name) {
  constexpr std::size_t kShown = 3;
  const std::string key = PlainModelName(name.substr(0, 60));
  // Longer forms of the name come before all others: llama-3.1 has no size.
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& known : Models().names) {
    const std::string other = PlainModelName(known);
    const bool longer = key.size() > 2 && other.starts_with(key);
    ranked.emplace_back(longer ? 0 : 1 + EditDistance(key, other), known);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> nearest;
  std::vector<std::string> shapes;
  for (const auto& [distance, known] : ranked) {
    // Two names of one model are one suggestion.
    const std::string other = PlainModelName(known);
    if (std::find(shapes.begin(), shapes.end(), other) != shapes.end()) continue;
    shapes.push_back(other);
    nearest.push_back(known);
    if (nearest.size() == kShown) break;
  }
  return nearest;
}

}  // namespace idleburn
