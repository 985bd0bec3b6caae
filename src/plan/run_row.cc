#include "plan/run_row.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "plan/cell_words.h"
#include "plan/column_names.h"
#include "plan/count_unit.h"
#include "plan/gpu_name.h"
#include "plan/model_table.h"
#include "plan/table_formats.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr int kDecimals = 6;

// In the order in which they are asked: the first whose telling column has a value, and that has all that is said.
constexpr std::array<TableFormat, 8> kFormats = {{
    {"llm-foundry", "d_model|mp_mode|global_batch",
     "model|n_params|n_layers|d_model|n_heads|d_ff|vocab|seq_len|n_gpus|gpu|precision|micro_batch|grad_accum|"
     "global_batch|sharding|act_ckpt|mp_mode",
     "precision|micro_batch|grad_accum|sharding|act_ckpt", ReadLlmFoundryRow},
    {"megatron-bridge", "system|gbs|mbs", "kind|model|system|n_gpus|precision|gbs|mbs|seq_len|fsdp|tp|pp|cp|vp|ep",
     "kind|precision|gbs|tp|pp|ep", ReadMegatronBridgeRow},
    {"peft", "target_modules|dora|adapter_fp32|train_tokens|max_seq_len|grad_ckpt|run",
     "run|model|method|rank|target_modules|dora|dtype|max_seq_len|batch_size|steps|grad_ckpt|compile|optimizer|"
     "adapter_fp32|trainable_params|total_params|train_tokens|gpu",
     "method|trainable_params|batch_size|max_seq_len|grad_ckpt|model", ReadPeftRow},
    {"litgpt", "section|quantization|minutes_per_1k_iters",
     "section|model|size|quantization|micro_batch|trainable_params|n_gpus|gpu",
     "section|quantization|micro_batch|n_gpus|trainable_params", ReadLitgptRow},
    {"fsdp_qlora", "batch_per_gpu|context|cpu_offload",
     "model|gpu|n_gpus|method|sharding|cpu_offload|batch_per_gpu|context", "sharding|cpu_offload", ReadFsdpQloraRow},
    {"torchtitan", "parallelism|local_batch|float8",
     "model|gpu|n_gpus|parallelism|local_batch|seq_len|act_ckpt|compile|float8", "parallelism|act_ckpt|compile|float8",
     ReadTorchtitanRow},
    {"torchtune", "packed|chunked_ce|optim_in_bwd|act_offload",
     "model|method|gpu|n_gpus|batch|seq_len|packed|compile|chunked_ce|act_ckpt|optim_in_bwd|act_offload|optimizer",
     "packed|compile", ReadTorchtuneRow},
    {"qwen", "gpus_per_node|grad_accum", "model|method|nodes|gpus_per_node|seq_len|micro_batch|grad_accum|gpu",
     "nodes|gpus_per_node|micro_batch|grad_accum", ReadQwenRow},
}};

// What a run came to: it says nothing of a configuration.
constexpr std::array<std::string_view, 22> kResults = {"tokens_s_gpu",
                                                       "tokens_s_per_gpu",
                                                       "tokens_s",
                                                       "samples_s",
                                                       "s_per_iter",
                                                       "peak_bytes",
                                                       "mfu_pct",
                                                       "hfu_pct",
                                                       "model_tflops_per_gpu",
                                                       "model_tflops_gpu",
                                                       "mem_total_g",
                                                       "mem_per_gpu_g",
                                                       "mem_reserved_max_bytes",
                                                       "mem_reserved_p99_bytes",
                                                       "mem_reserved_avg_bytes",
                                                       "mem_allocated_avg_bytes",
                                                       "train_time_s",
                                                       "total_time_s",
                                                       "peak_mem_gb",
                                                       "peak_mem_gib",
                                                       "minutes_per_1k_iters",
                                                       "time_s_1024_samples"};
// What says where a row is from, or which.
constexpr std::array<std::string_view, 11> kNotes = {"key",    "quantity", "config", "table", "release", "torch",
                                                     "status", "source",   "metric", "note",  "line"};

bool IsFilled(const TableCells& cells, std::string_view column) {
  const auto cell = cells.find(column);
  return cell != cells.end() && !cell->second.empty();
}

// The cell of a column, or of another name for it.
std::string TextIn(const TableCells& cells, std::string_view column) {
  const auto cell = cells.find(column);
  if (cell != cells.end() && !cell->second.empty()) return cell->second;
  for (const std::string_view name : SynonymsOf(column)) {
    const auto other = cells.find(name);
    if (other != cells.end() && !other->second.empty()) return other->second;
  }
  return {};
}

// Calls `found` with each of the columns, "|" between them, until it says that this is enough.
template <typename Found>
bool Any(std::string_view columns, Found found) {
  while (!columns.empty()) {
    const std::size_t bar = std::min(columns.find('|'), columns.size());
    if (found(columns.substr(0, bar))) return true;
    columns.remove_prefix(std::min(bar + 1, columns.size()));
  }
  return false;
}

// Without the word behind a number: "4096 tokens" is "4096".
std::string_view WithoutWord(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && std::isalpha(static_cast<unsigned char>(text[end - 1])) != 0) --end;
  const bool word = text.size() - end > 1 && end > 1 && text[end - 1] == ' ';
  return word ? Trim(text.substr(0, end)) : text;
}

// "4096", "7B", "8,030,261,248", "32k", "4096 tokens"; absent if empty or "n/a"; an error if it is none of these.
Result<std::optional<double>> NumberIn(const TableCells& cells, std::string_view column) {
  std::string text = TextIn(cells, column);
  if (IsBlankCell({}, text)) return std::optional<double>();
  const auto separates = [](char c) { return c == ',' || c == '_'; };  // thousands
  text.erase(std::remove_if(text.begin(), text.end(), separates), text.end());
  std::string_view digits = WithoutWord(Trim(text));
  const double unit = TakeCountUnit(column, digits);
  const ScaledNumber number = ParseScaled(digits, kDecimals);
  if (number.fault != NumberFault::kNone || number.value < 0) {
    return Fail(std::string(column) + " '" + text.substr(0, 20) + "' is no number from 0");
  }
  return std::optional<double>(static_cast<double>(number.value) / 1e6 * unit);
}

bool IsOneOf(std::string_view columns, std::string_view column) {
  return Any(columns, [&](std::string_view one) { return one == column; });
}

bool IsConfigColumn(std::string_view column) {
  return IsSynonym(column) || std::any_of(kFormats.begin(), kFormats.end(),
                                          [&](const TableFormat& format) { return IsOneOf(format.columns, column); });
}

// Whether the row says something that the table has no column for: then it is another's.
bool SaysMore(const TableCells& cells, const TableFormat& format) {
  return std::any_of(cells.begin(), cells.end(), [&](const auto& cell) {
    if (cell.second.empty() || IsOffWord(cell.second)) return false;
    if (!IsConfigColumn(cell.first) || IsOneOf(format.columns, cell.first)) return false;
    const auto names = SynonymsOf(cell.first);
    return std::none_of(names.begin(), names.end(),
                        [&](std::string_view name) { return IsOneOf(format.columns, name); });
  });
}

TableFormat FormatOf(const TableCells& cells) {
  const std::string stated = FrameworkNamed(TextIn(cells, "framework"));
  for (const TableFormat& format : kFormats) {
    if (stated == format.framework) return format;
  }
  // Of a framework that nobody knows, what it does unless it is told otherwise is a guess.
  constexpr TableFormat kAny = {"", "", "", "act_ckpt|precision", ReadAnyRow};
  if (!stated.empty()) return kAny;
  const auto filled = [&](std::string_view column) { return IsFilled(cells, column); };
  for (const TableFormat& format : kFormats) {
    if (Any(format.telling, filled) && !SaysMore(cells, format)) return format;
  }
  return kAny;
}

// 1 where it is not said, or cannot be read: that is complained of where it is needed.
double CountIn(const TableCells& cells, std::string_view column) {
  const Result<std::optional<double>> count = NumberIn(cells, column);
  return count && *count ? std::max(1.0, **count) : 1;
}

// "8xH100" says how many GPUs, where no column does.
TableCells WithCountedGpus(const TableCells& cells) {
  TableCells counted = cells;
  for (const std::string_view column : SynonymsOf("gpu")) {
    const auto cell = counted.find(column);
    if (cell == counted.end() || cell->second.empty()) continue;
    const CountedGpu gpu = CountedGpuOf(cell->second);
    if (gpu.count == 0) continue;
    cell->second = gpu.gpu;
    if (TextIn(cells, "n_gpus").empty() && TextIn(cells, "gpus_per_node").empty())
      counted["n_gpus"] = std::to_string(static_cast<std::int64_t>(gpu.count * CountIn(cells, "nodes")));
  }
  return counted;
}

// The parameters that a name states: "llama-13b" has 13e9; 0 if it states none.
double SizeInName(const std::string& name) {
  for (std::size_t end = name.size(); end-- > 1;) {
    const char letter = name[end];
    const double unit = letter == 'b' || letter == 'B' ? 1e9 : letter == 'm' || letter == 'M' ? 1e6 : 0;
    if (unit == 0) continue;
    std::size_t behind = end + 1;  // "7b1" is 7.1
    while (unit == 1e9 && behind < name.size() && std::isdigit(static_cast<unsigned char>(name[behind])) != 0) ++behind;
    if (behind < name.size() && std::isalnum(static_cast<unsigned char>(name[behind])) != 0) continue;
    std::size_t start = end;
    while (start > 0 && (std::isdigit(static_cast<unsigned char>(name[start - 1])) != 0 || name[start - 1] == '.'))
      --start;
    if (start > 0 && std::isalpha(static_cast<unsigned char>(name[start - 1])) != 0) continue;  // "a3b": active only
    std::string digits = name.substr(start, end - start);
    if (behind > end + 1) digits += "." + name.substr(end + 1, behind - end - 1);
    const ScaledNumber number = ParseScaled(digits, kDecimals);
    if (number.fault == NumberFault::kNone && number.value > 0) return static_cast<double>(number.value) / 1e6 * unit;
  }
  return 0;
}

// A dense transformer of that many parameters as most are built: heads of 128, as many layers as heads, four queries a
// key, an MLP of 3.5 times the width, a vocabulary of 128 k.
ModelFacts UsualShape(const std::string& name, double params) {
  constexpr double kHead = 128;
  constexpr double kVocab = 128256;
  constexpr double kPerLayer = 2 + 2 * 0.25 + 3 * 3.5;  // in squares of the width
  double layers = 1;
  while (layers < 1000 && kPerLayer * std::pow(kHead * layers, 2) * layers + 2 * kVocab * kHead * layers < params)
    ++layers;
  ModelFacts facts;
  facts.name = name;
  facts.layers = static_cast<std::int64_t>(layers);
  facts.heads = std::max<std::int64_t>(4, facts.layers / 4 * 4);
  facts.hidden = facts.heads * 128;
  facts.kv_heads = facts.heads / 4;
  facts.ffn = facts.hidden * 7 / 2;
  facts.vocab = static_cast<std::int64_t>(kVocab);
  return facts;
}

}  // namespace

RowReader::RowReader(const TableCells& cells) : cells_(cells) {}

std::string RowReader::Text(std::string_view column) const { return TextIn(cells_, column); }

std::string RowReader::Word(std::string_view column) const { return Squash(Text(column)); }

bool RowReader::Says(std::string_view column) const { return IsFilled(cells_, column); }

std::string RowReader::Stated(std::string_view column) {
  std::string text = Text(column);
  if (text.empty()) Complain("no " + std::string(column));
  return text;
}

double RowReader::Number(std::string_view column, std::optional<double> otherwise) {
  const Result<std::optional<double>> value = NumberIn(cells_, column);
  if (!value) {
    Complain(value.error().message);
    return otherwise.value_or(1);
  }
  if (*value) return **value;
  if (!otherwise) Complain("no " + std::string(column));
  return otherwise.value_or(1);
}

double RowReader::Count(std::string_view column, std::optional<double> otherwise) {
  const double value = Number(column, otherwise);
  if (value < 1) Complain(std::string(column) + " is below 1");
  return std::max(value, 1.0);
}

std::optional<double> RowReader::Measured(std::string_view column) {
  const Result<std::optional<double>> value = NumberIn(cells_, column);
  return value && *value && **value > 0 ? *value : std::nullopt;
}

std::optional<bool> RowReader::Switch(std::string_view column) {
  const std::string text = TextIn(cells_, column);
  if (text.empty()) return std::nullopt;
  const std::optional<bool> on = SwitchWord(text);
  if (!on) Complain(std::string(column) + " '" + text.substr(0, 20) + "' is neither 1 nor 0");
  return on;
}

ModelFacts RowReader::Model(const std::string& name) {
  constexpr double kMostSize = 1e8;
  constexpr double kLeastParams = 1e6;
  constexpr double kMostParams = 1e14;
  if (Number("n_layers", 0) > 0 && Number("d_model", 0) > 0) {
    const auto size = [&](std::string_view column, double otherwise) {
      return static_cast<std::int64_t>(std::min(kMostSize, Number(column, otherwise)));
    };
    ModelFacts facts = FindModel(name).value_or(ModelFacts{});
    const bool known = facts.layers > 0;
    facts.name = name;
    facts.layers = size("n_layers", 0);
    facts.hidden = size("d_model", 0);
    facts.heads = size("n_heads", std::max(1.0, static_cast<double>(facts.hidden) / 128));
    facts.ffn = size("d_ff", 4 * static_cast<double>(facts.hidden));
    facts.vocab = size("vocab", known ? static_cast<double>(facts.vocab) : 50368);
    if (known) return facts;
    facts.kv_heads = size("kv_heads", static_cast<double>(facts.heads));
    // Two matrices an MLP are four times as wide; three are rarely.
    facts.gated = facts.ffn != 4 * facts.hidden;
    facts.tied = !facts.gated;
    return facts;
  }
  const std::string sized = name + " " + Text("size");
  for (const std::string& wanted : {name, sized}) {
    if (const std::optional<ModelFacts> facts = FindModel(wanted)) return *facts;
  }
  double params = Number("total_params", 0);
  if (params <= 0) params = SizeInName(sized);
  if (params >= kLeastParams && params <= kMostParams) {
    guessed_model_ = true;
    return UsualShape(name, params);
  }
  Complain("model '" + name.substr(0, 40) + "' is not in the built-in table, nor is its size stated");
  return {};
}

void RowReader::Complain(std::string message) {
  if (complaint_.empty()) complaint_ = std::move(message);
}

std::string FrameworkNamed(std::string_view text) {
  constexpr auto kOwners =
      std::to_array<std::string_view>({"mosaicml", "databricks", "nvidia", "nemo", "huggingface", "hf", "pytorch",
                                       "lightningai", "answerdotai", "answerai", "qwenlm"});
  constexpr auto kVersions = std::to_array<std::string_view>({"@", "==", " v0", " v1", " v2", " 0", " 1", " 2"});
  std::string_view name = Trim(text);
  for (const std::string_view version : kVersions) name = name.substr(0, name.find(version));
  std::string plain = Squash(name.substr(name.rfind('/') + 1));
  const auto owns = [&](std::string_view owner) { return plain.starts_with(owner); };
  for (auto owner = kOwners.begin(); owner != kOwners.end();) {
    owner = std::find_if(kOwners.begin(), kOwners.end(), owns);
    if (owner != kOwners.end()) plain.erase(0, owner->size());
  }
  for (const TableFormat& format : kFormats) {
    if (plain == Squash(format.framework)) return std::string(format.framework);
  }
  return std::string(Trim(text));
}

bool IsKnownColumn(std::string_view column) {
  return IsConfigColumn(column) || std::find(kResults.begin(), kResults.end(), column) != kResults.end() ||
         std::find(kNotes.begin(), kNotes.end(), column) != kNotes.end();
}

std::span<const std::string_view> ResultColumns() { return kResults; }

Result<RunRow> ReadRunRow(const TableCells& written) {
  const TableCells cells = WithCountedGpus(written);
  const TableFormat format = FormatOf(cells);
  RowReader reader(cells);
  RunRow row = format.read(reader);
  row.run.framework = format.framework.empty() ? TextIn(cells, "framework") : std::string(format.framework);
  row.defaults_unknown = format.framework.empty();
  row.model_guessed = reader.guessed_model();
  row.guessed = row.guessed || row.model_guessed ||
                Any(format.needed, [&](std::string_view column) { return TextIn(cells, column).empty(); });
  if (row.tokens_per_iter <= 0) {  // what divides the model shares a replica's tokens out
    const double shared = row.run.DataParallel() / row.run.gpus;
    row.tokens_per_iter = row.run.micro_batch * row.run.accumulation * row.run.sequence * shared;
  }
  if (row.s_per_iter && !row.tokens_s_per_gpu) row.tokens_s_per_gpu = row.tokens_per_iter / *row.s_per_iter;
  if (!reader.complaint().empty()) return Fail(reader.complaint());
  return row;
}

}  // namespace idleburn
