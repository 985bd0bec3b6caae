#include "plan/run_row.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "plan/gpu_rate.h"
#include "plan/model_table.h"
#include "plan/table_formats.h"
#include "plan/value_words.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// From the words of a cell to numbers and switches, and from a row to the table that it belongs to. Rules are lenient
// where people only write differently ("32k", "4096 tokens", "seqLen") and strict where a guess would change the run: a
// word that is neither on nor off is a complaint.

namespace {

constexpr std::size_t kMostNames = 20;
using Names = std::array<std::string_view, kMostNames>;  // one thing each; "" fills up

// Names of one thing; the first is ours.
constexpr std::array<Names, 55> kColumnNames = {{
    {"framework", "library", "engine", "trainer"},
    {"model", "model_name", "base_model", "model_name_or_path", "model_id", "checkpoint"},
    {"size", "model_size"},
    {"total_params", "n_params", "params", "num_params", "parameters"},
    {"n_layers", "num_layers", "num_hidden_layers", "layers", "n_layer"},
    {"d_model", "hidden_size", "hidden", "hidden_dim", "n_embd"},
    {"n_heads", "num_attention_heads", "num_heads", "heads", "n_head"},
    {"kv_heads", "n_kv_heads", "num_key_value_heads", "num_kv_heads"},
    {"d_ff", "intermediate_size", "ffn_hidden_size", "ffn", "ffn_dim"},
    {"vocab", "vocab_size"},
    {"gpu", "system", "gpu_type", "gpu_model", "device", "accelerator", "hardware", "gpu_name"},
    {"n_gpus", "gpus", "num_gpus", "world_size", "gpu_count", "devices"},
    {"nodes", "n_nodes", "num_nodes", "nnodes"},
    {"gpus_per_node", "nproc_per_node", "num_gpus_per_node"},
    {"micro_batch", "mbs", "local_batch", "batch_per_gpu", "batch_size", "batch", "micro_batch_size",
     "per_device_train_batch_size", "batch_size_per_gpu", "per_device_batch_size", "local_batch_size",
     "batch_size_per_device", "train_micro_batch_size_per_gpu", "micro_batch_size_per_gpu", "bs"},
    {"global_batch", "gbs", "global_batch_size", "train_batch_size", "effective_batch_size", "effective_batch",
     "total_batch_size"},
    {"global_batch_tokens", "batch_tokens", "tokens_per_batch", "tokens_per_step", "global_batch_size_tokens"},
    {"grad_accum", "gradient_accumulation_steps", "accumulation", "grad_accum_steps", "gradient_accumulation",
     "accumulate_grad_batches"},
    {"seq_len", "max_seq_len", "context", "seq_length", "sequence_length", "context_length", "sequence_len",
     "cutoff_len", "max_seq_length", "max_length", "seqlen", "block_size", "max_sequence_length", "ctx_len", "seq"},
    {"method", "kind", "finetuning_type", "training_type", "task", "peft_method", "adapter"},
    {"quantization", "load_in_4bit", "quantization_bit", "quant"},
    {"precision", "dtype", "mixed_precision", "torch_dtype", "data_type"},
    {"act_ckpt", "grad_ckpt", "gradient_checkpointing", "activation_checkpointing", "checkpointing", "recompute",
     "activation_checkpoint", "recompute_granularity", "enable_activation_checkpointing"},
    {"sharding", "parallelism", "strategy", "zero_stage", "deepspeed", "zero", "fsdp", "sharding_strategy"},
    {"tp", "tensor_parallel", "tensor_parallel_size", "tensor_model_parallel_size", "tp_size", "tp_degree",
     "tensor_parallel_degree"},
    {"pp", "pipeline_parallel", "pipeline_parallel_size", "pipeline_model_parallel_size", "pp_size", "pp_degree",
     "pipeline_parallel_degree"},
    {"cp", "context_parallel", "context_parallel_size", "cp_size", "cp_degree", "context_parallel_degree"},
    {"ep", "expert_parallel", "expert_parallel_size", "expert_model_parallel_size", "ep_size", "ep_degree"},
    {"dp", "data_parallel", "data_parallel_size", "dp_size", "dp_degree", "data_parallel_degree"},
    {"rank", "lora_r", "lora_rank", "r"},
    {"cpu_offload", "offload", "fsdp_cpu_offload", "offload_params"},
    {"act_offload", "offload_activations", "activation_offloading", "enable_activation_offloading"},
    {"optim_in_bwd", "optimizer_in_backward", "optimizer_in_bwd"},
    {"vp", "virtual_pipeline", "virtual_pipeline_model_parallel_size", "vp_size", "virtual_stages"},
    {"shards", "data_parallel_shard_degree", "dp_shard", "shard_group"},
    {"micro_batches", "num_microbatches", "pipeline_parallel_microbatches", "num_pp_microbatches"},
    {"target_modules", "targets", "lora_target", "lora_target_modules"},
    {"samples"},
    {"epochs", "num_epochs", "num_train_epochs"},
    {"trainable_params", "trainable_parameters", "trained_params"},
    {"experts", "n_experts", "num_experts", "num_local_experts", "n_routed_experts"},
    {"experts_per_token", "num_experts_per_tok", "moe_topk", "top_k"},
    {"expert_ffn", "moe_intermediate_size", "moe_d_ff"},
    {"shared_ffn", "shared_expert_intermediate_size", "shared_d_ff"},
    {"dense_layers", "first_k_dense_replace", "first_dense_layers"},
    {"head_dim"},
    {"tied", "tie_word_embeddings"},
    {"gated"},
    {"optimizer", "optim"},
    {"compile", "torch_compile"},
    {"chunked_ce", "liger_kernel", "use_liger_kernel", "fused_linear_ce", "fused_ce", "chunked_loss", "liger"},
    {"load_in_8bit"},
    {"packed", "packing", "sample_packing"},
    {"attention", "attn_implementation", "flash_attention", "flash_attn", "attn", "attention_implementation"},
}};

// Endings of a column's name that only say its unit.
constexpr std::array<std::string_view, 5> kUnits = {"_tokens", "_token", "_count", "_seqs", "_sequences"};

// The names that a column belongs to; null where it says nothing of a configuration.
const Names* GroupOf(std::string_view column) {
  for (const Names& names : kColumnNames) {
    if (!column.empty() && std::find(names.begin(), names.end(), column) != names.end()) return &names;
  }
  return nullptr;
}

// Whether the column says something of a configuration by one of these names.
bool IsSynonym(std::string_view column) { return GroupOf(column) != nullptr; }

// Puts underscores between words that capitals begin: "seqLen" becomes "seq_Len".
std::string SplitCamel(std::string_view name) {
  std::string split;
  for (const char c : name) {
    const bool begins = std::isupper(static_cast<unsigned char>(c)) != 0 && !split.empty() &&
                        std::islower(static_cast<unsigned char>(split.back())) != 0;
    if (begins) split += '_';
    split += c;
  }
  return split;
}

}  // namespace

std::string PlainColumn(std::string_view name) {
  std::string plain;
  std::string behind;  // in brackets
  bool brackets = false;
  for (const char c : Trim(name)) {
    brackets = brackets || c == '(' || c == '[';
    const bool separates = c == ' ' || c == '-';
    (brackets ? behind : plain) += separates ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  while (plain.ends_with('_')) plain.pop_back();
  // A unit in brackets may be part of the name: "Batch (tokens)".
  if (behind.find("token") != std::string::npos && IsSynonym(plain + "_tokens")) return plain + "_tokens";
  if (IsSynonym(plain)) return plain;
  for (const std::string_view unit : kUnits) {
    if (plain.size() <= unit.size() || !plain.ends_with(unit)) continue;
    const std::string without = plain.substr(0, plain.size() - unit.size());
    if (IsSynonym(without)) return without;
  }
  // Only a name that no rule has understood is split at its capitals.
  const std::string split = SplitCamel(Trim(name));
  return split == Trim(name) ? plain : PlainColumn(split);
}

std::span<const std::string_view> SynonymsOf(std::string_view column) {
  const Names* names = GroupOf(column);
  if (names == nullptr) return {};
  const auto end = std::find(names->begin(), names->end(), std::string_view());
  return {names->begin(), end};
}

namespace {

// What programs and people write for a value that they do not know.
constexpr auto kBlank = std::to_array<std::string_view>(
    {"", "nan", "null", "na", "<na>", "#n/a", "-", "?", "unknown", "not stated", "not given", "unspecified", "nil"});
// Empty for most columns, but an answer for those below.
constexpr auto kNoneWords = std::to_array<std::string_view>({"none", "n/a"});
// Columns in which "none" is an answer.
constexpr auto kMayBeOff = std::to_array<std::string_view>(
    {"quantization", "act_ckpt", "sharding", "method", "tp", "pp", "cp", "ep", "vp", "attention"});

// Whether the text is one of the words, in any case of letters.
template <typename Words>
bool HasWord(const Words& words, std::string_view text) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return EqualsIgnoreCase(word, text); });
}

// Whether "none" is an answer in that column.
bool MayBeOff(std::string_view column) {
  const auto names = SynonymsOf(column);
  return HasWord(kMayBeOff, names.empty() ? column : names.front());
}

// Whether the text says that something is off.
bool IsOffWord(std::string_view text) { return !SwitchNamed(text).value_or(true); }

}  // namespace

bool IsBlankCell(std::string_view column, std::string_view text) {
  text = Trim(text);
  return HasWord(kBlank, text) || (HasWord(kNoneWords, text) && !MayBeOff(column));
}

double TakeCountUnit(std::string_view key, std::string_view& digits) {
  constexpr double kTokens = 1024;
  constexpr std::array<std::pair<std::string_view, double>, 4> kCountUnits = {
      {{"k", 1e3}, {"m", 1e6}, {"b", 1e9}, {"t", 1e12}}};
  for (const auto& [letter, scale] : kCountUnits) {
    if (digits.size() < 2 || !EqualsIgnoreCase(digits.substr(digits.size() - 1), letter)) continue;
    digits = Trim(digits.substr(0, digits.size() - 1));
    return key == "seq_len" && letter == "k" ? kTokens : scale;
  }
  return 1;
}

namespace {

// The tables in the order in which they are tried. A row belongs to the first one that has a telling column with a
// value and a column for everything that is said.
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

// Columns that say what a run came to, and nothing of a configuration.
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
// Columns that say where a row is from, or which row it is.
constexpr std::array<std::string_view, 11> kNotes = {"key",    "quantity", "config", "table", "release", "torch",
                                                     "status", "source",   "metric", "note",  "line"};

// Whether the column itself has a value.
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

// Whether `found` is true of one of the columns, which have "|" between them.
template <typename Found>
bool Any(std::string_view columns, Found found) {
  while (!columns.empty()) {
    const std::size_t bar = std::min(columns.find('|'), columns.size());
    if (found(columns.substr(0, bar))) return true;
    columns.remove_prefix(std::min(bar + 1, columns.size()));
  }
  return false;
}

// A text without the word behind its number: "4096 tokens" becomes "4096".
std::string_view WithoutWord(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && std::isalpha(static_cast<unsigned char>(text[end - 1])) != 0) --end;
  const bool word = text.size() - end > 1 && end > 1 && text[end - 1] == ' ';
  return word ? Trim(text.substr(0, end)) : text;
}

// The number in a cell: "4096", "7B", "8,030,261,248", "32k", "4096 tokens". Absent if the cell is empty or "n/a".
// Anything else is an error.
Result<std::optional<double>> NumberIn(const TableCells& cells, std::string_view column) {
  std::string text = TextIn(cells, column);
  if (IsBlankCell({}, text)) return std::optional<double>();
  // Thousands may be separated in two ways.
  const auto separates = [](char c) { return c == ',' || c == '_'; };  // thousands
  text.erase(std::remove_if(text.begin(), text.end(), separates), text.end());
  std::string_view digits = WithoutWord(Trim(text));
  const double unit = TakeCountUnit(column, digits);
  const ScaledNumber number = ParseScaled(digits, kCountDecimals);
  if (number.fault != NumberFault::kNone || number.value < 0) {
    return Fail(std::string(column) + " '" + text.substr(0, 20) + "' is not a number of 0 or more");
  }
  return std::optional<double>(static_cast<double>(number.value) / 1e6 * unit);
}

// Whether the column is in the list.
bool Lists(std::string_view columns, std::string_view column) {
  return Any(columns, [&](std::string_view one) { return one == column; });
}

// Whether some table knows the column as part of a configuration.
bool IsConfigColumn(std::string_view column) {
  return IsSynonym(column) || std::any_of(kFormats.begin(), kFormats.end(),
                                          [&](const TableFormat& format) { return Lists(format.columns, column); });
}

// Columns of degrees.
constexpr std::string_view kDegrees = "tp|pp|cp|ep|vp|dp|nodes|shards|micro_batches";

// Whether the row says something that the table has no column for. Then it belongs to another table.
bool SaysMore(const TableCells& cells, const TableFormat& format) {
  return std::any_of(cells.begin(), cells.end(), [&](const auto& cell) {
    if (cell.second.empty() || IsOffWord(cell.second)) return false;
    if (!IsConfigColumn(cell.first) || Lists(format.columns, cell.first)) return false;
    const auto names = SynonymsOf(cell.first);
    // The framework chose the table; a degree of 1 divides nothing.
    if (names.empty() || names.front() == "framework") return false;
    if (Lists(kDegrees, names.front()) && Trim(cell.second) == "1") return false;
    return std::none_of(names.begin(), names.end(), [&](std::string_view name) { return Lists(format.columns, name); });
  });
}

// The table that the row is written like: by the framework that it states, else by its telling columns, else none that
// is known.
TableFormat FormatOf(const TableCells& cells) {
  const std::string stated = FrameworkNamed(TextIn(cells, "framework"));
  // What its table has no column for, it does not read; the words of a plan do.
  for (const TableFormat& format : kFormats) {
    if (stated == format.framework && !SaysMore(cells, format)) return format;
  }
  // What such a row leaves open has the defaults of a plan, which are guesses about its framework.
  constexpr TableFormat kAny = {"", "", "", "", ReadAnyRow};
  // A stated framework that is not listed is never taken for one that is.
  if (!stated.empty()) return kAny;
  const auto filled = [&](std::string_view column) { return IsFilled(cells, column); };
  for (const TableFormat& format : kFormats) {
    if (Any(format.telling, filled) && !SaysMore(cells, format)) return format;
  }
  return kAny;
}

// A count from 1 on. It is 1 where the cell is empty or cannot be read; whoever needs the cell complains of that.
double CountIn(const TableCells& cells, std::string_view column) {
  const Result<std::optional<double>> count = NumberIn(cells, column);
  return count && *count ? std::max(1.0, **count) : 1;
}

// Takes the number off a GPU such as "8xH100", where no column has it.
TableCells WithCountedGpus(const TableCells& cells) {
  TableCells counted = cells;
  for (const std::string_view column : SynonymsOf("gpu")) {
    const auto cell = counted.find(column);
    if (cell == counted.end() || cell->second.empty()) continue;
    const CountedGpu gpu = CountedGpuOf(cell->second);
    if (gpu.count == 0) continue;
    // A column for the number of GPUs wins over what the name says.
    cell->second = gpu.gpu;
    if (TextIn(cells, "n_gpus").empty() && TextIn(cells, "gpus_per_node").empty())
      counted["n_gpus"] = std::to_string(static_cast<std::int64_t>(gpu.count * CountIn(cells, "nodes")));
  }
  return counted;
}

// The parameters that a name states: "llama-13b" has 13e9. 0 if it states none.
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
    const ScaledNumber number = ParseScaled(digits, kCountDecimals);
    if (number.fault == NumberFault::kNone && number.value > 0) return static_cast<double>(number.value) / 1e6 * unit;
  }
  return 0;
}

// A mixture is never taken for a dense model of its size.
constexpr const char* kExpertsMissing =
    "a mixture of experts that is not in the built-in table; its experts are not given";

// A dense transformer of that many parameters, built as most are: heads of 128, as many layers as heads, four queries a
// key, an MLP of 3.5 times the width, and a vocabulary of 128 k.
ModelFacts UsualShape(const std::string& name, double params) {
  constexpr double kHead = 128;
  constexpr double kVocab = 128256;
  constexpr double kPerLayer = 2 + 2 * 0.25 + 3 * 3.5;  // in squares of the width
  double layers = 1;
  // The number of layers decides all else, so it is raised until the size is reached.
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
  const std::optional<bool> on = SwitchNamed(text);
  if (!on) Complain(std::string(column) + " '" + text.substr(0, 20) + "' is neither 1 nor 0");
  return on;
}

ModelFacts RowReader::Model(const std::string& name) {
  constexpr double kMostStatedSize = 1e8;
  constexpr double kLeastStatedParams = 1e6;
  constexpr double kMostStatedParams = 1e14;
  // A shape in the row wins over the table of models; a known model fills its gaps.
  if (Number("n_layers", 0) > 0 && Number("d_model", 0) > 0) {
    const auto size = [&](std::string_view column, double otherwise) {
      return static_cast<std::int64_t>(std::min(kMostStatedSize, Number(column, otherwise)));
    };
    ModelFacts facts = FindModel(name).value_or(ModelFacts{});
    const bool known = facts.layers > 0;
    const ModelFacts table = facts;
    facts.name = name;
    facts.layers = size("n_layers", 0);
    facts.hidden = size("d_model", 0);
    facts.heads = size("n_heads", std::max(1.0, static_cast<double>(facts.hidden) / 128));
    facts.ffn = size("d_ff", known ? static_cast<double>(facts.ffn) : 4 * static_cast<double>(facts.hidden));
    facts.vocab = size("vocab", known ? static_cast<double>(facts.vocab) : 50368);
    if (table.layers != facts.layers || table.hidden != facts.hidden) facts.other_params = 0;
    if (known) return facts;
    facts.kv_heads = size("kv_heads", static_cast<double>(facts.heads));
    facts.head_dim = size("head_dim", 0);
    facts.experts = size("experts", 0);
    facts.experts_per_token = size("experts_per_token", 0);
    facts.expert_ffn = size("expert_ffn", facts.experts > 0 ? static_cast<double>(facts.ffn) : 0);
    facts.shared_ffn = size("shared_ffn", 0);
    facts.dense_layers = size("dense_layers", 0);
    if (facts.experts == 0 && NamesExperts(name)) Complain(kExpertsMissing);
    // An MLP of four times the width has two matrices as a rule, and one with three is narrower.
    facts.gated = Switch("gated").value_or(facts.ffn != 4 * facts.hidden);
    facts.tied = Switch("tied").value_or(!facts.gated);
    return facts;
  }
  // The size may stand in a column of its own.
  const std::string sized = name + " " + Text("size");
  for (const std::string& wanted : {name, sized}) {
    if (const std::optional<ModelFacts> facts = FindModel(wanted)) return *facts;
  }
  if (NamesExperts(sized)) {
    Complain(kExpertsMissing);
    return {};
  }
  double params = Number("total_params", 0);
  if (params <= 0) params = SizeInName(sized);
  if (params >= kLeastStatedParams && params <= kMostStatedParams) {
    // Better a wide interval than no answer.
    guessed_model_ = true;
    return UsualShape(name, params);
  }
  Complain("model '" + name.substr(0, 40) + "' is not in the built-in table, and its size is not given");
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
  // An owner may stand before an owner: "NVIDIA NeMo Megatron-Bridge".
  for (auto owner = kOwners.begin(); owner != kOwners.end();) {
    owner = std::find_if(kOwners.begin(), kOwners.end(), owns);
    if (owner != kOwners.end()) plain.erase(0, owner->size());
  }
  for (const FrameworkHabits& habits : AllHabits()) {
    if (plain == Squash(habits.framework)) return std::string(habits.framework);
  }
  // Names of what one library is: the trainer, or the library of adapters beside it.
  if (plain == "transformers" || plain == "trainer" || text == "hf" || plain == "sfttrainer") {
    return plain == "sfttrainer" ? "trl" : "hf";
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
  row.run.framework =
      format.framework.empty() ? FrameworkNamed(TextIn(cells, "framework")) : std::string(format.framework);
  row.defaults_unknown = HabitsOf(row.run.framework) == nullptr;
  row.model_guessed = reader.guessed_model();
  // A row that lacks what its table states is no row of that table to the intervals.
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
