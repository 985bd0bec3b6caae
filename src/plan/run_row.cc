#include "plan/run_row.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "plan/memory.h"
#include "plan/model_table.h"
#include "plan/table_formats.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr int kDecimals = 6;

// In the order in which they are asked: the first whose telling column has a value is it.
constexpr std::array<TableFormat, 8> kFormats = {{
    {"llm-foundry", "d_model|mp_mode|global_batch", ReadLlmFoundryRow},
    {"megatron-bridge", "system|gbs|mbs", ReadMegatronBridgeRow},
    {"peft", "target_modules|dora|adapter_fp32|train_tokens|max_seq_len|grad_ckpt|run", ReadPeftRow},
    {"litgpt", "section|quantization|minutes_per_1k_iters", ReadLitgptRow},
    {"fsdp_qlora", "batch_per_gpu|context|cpu_offload", ReadFsdpQloraRow},
    {"torchtitan", "parallelism|local_batch|float8", ReadTorchtitanRow},
    {"torchtune", "packed|chunked_ce|optim_in_bwd|act_offload", ReadTorchtuneRow},
    {"qwen", "gpus_per_node|grad_accum", ReadQwenRow},
}};

constexpr std::array<std::string_view, 85> kColumns = {"key",
                                                       "quantity",
                                                       "config",
                                                       "framework",
                                                       "table",
                                                       "model",
                                                       "n_params",
                                                       "n_layers",
                                                       "d_model",
                                                       "n_heads",
                                                       "d_ff",
                                                       "vocab",
                                                       "seq_len",
                                                       "n_gpus",
                                                       "gpu",
                                                       "precision",
                                                       "micro_batch",
                                                       "grad_accum",
                                                       "global_batch",
                                                       "sharding",
                                                       "act_ckpt",
                                                       "mp_mode",
                                                       "mfu_pct",
                                                       "hfu_pct",
                                                       "model_tflops_per_gpu",
                                                       "samples_s",
                                                       "tokens_s",
                                                       "tokens_s_gpu",
                                                       "release",
                                                       "kind",
                                                       "system",
                                                       "gbs",
                                                       "mbs",
                                                       "fsdp",
                                                       "tp",
                                                       "pp",
                                                       "cp",
                                                       "vp",
                                                       "ep",
                                                       "model_tflops_gpu",
                                                       "method",
                                                       "nodes",
                                                       "gpus_per_node",
                                                       "mem_total_g",
                                                       "mem_per_gpu_g",
                                                       "s_per_iter",
                                                       "tokens_s_per_gpu",
                                                       "run",
                                                       "rank",
                                                       "target_modules",
                                                       "dora",
                                                       "dtype",
                                                       "max_seq_len",
                                                       "batch_size",
                                                       "steps",
                                                       "grad_ckpt",
                                                       "compile",
                                                       "optimizer",
                                                       "adapter_fp32",
                                                       "trainable_params",
                                                       "total_params",
                                                       "mem_reserved_max_bytes",
                                                       "mem_reserved_p99_bytes",
                                                       "mem_reserved_avg_bytes",
                                                       "mem_allocated_avg_bytes",
                                                       "train_time_s",
                                                       "total_time_s",
                                                       "train_tokens",
                                                       "torch",
                                                       "status",
                                                       "section",
                                                       "size",
                                                       "quantization",
                                                       "peak_mem_gb",
                                                       "minutes_per_1k_iters",
                                                       "cpu_offload",
                                                       "batch_per_gpu",
                                                       "context",
                                                       "peak_mem_gib",
                                                       "time_s_1024_samples",
                                                       "parallelism",
                                                       "local_batch",
                                                       "float8",
                                                       "source",
                                                       "batch"};
constexpr std::array<std::string_view, 8> kMoreColumns = {"packed", "chunked_ce", "optim_in_bwd", "act_offload",
                                                          "metric", "note",       "peak_bytes",   "line"};

bool AnyFilled(const TableCells& cells, std::string_view columns) {
  while (!columns.empty()) {
    const std::size_t bar = std::min(columns.find('|'), columns.size());
    const auto cell = cells.find(columns.substr(0, bar));
    if (cell != cells.end() && !cell->second.empty()) return true;
    columns.remove_prefix(std::min(bar + 1, columns.size()));
  }
  return false;
}

const TableFormat* FormatOf(const TableCells& cells) {
  const std::string stated = TextIn(cells, "framework");
  for (const TableFormat& format : kFormats) {
    if (stated == format.framework) return &format;
  }
  for (const TableFormat& format : kFormats) {
    if (AnyFilled(cells, format.telling)) return &format;
  }
  return nullptr;
}

}  // namespace

std::string TextIn(const TableCells& cells, std::string_view column) {
  const auto cell = cells.find(column);
  return cell == cells.end() ? std::string() : cell->second;
}

Result<std::optional<double>> NumberIn(const TableCells& cells, std::string_view column) {
  const std::string text = TextIn(cells, column);
  if (text.empty() || text == "n/a" || text == "None") return std::optional<double>();
  const ScaledNumber number = ParseScaled(text, kDecimals);
  if (number.fault != NumberFault::kNone || number.value < 0) {
    return Fail(std::string(column) + " '" + text.substr(0, 20) + "' is no number from 0");
  }
  return std::optional<double>(static_cast<double>(number.value) / 1e6);
}

RowReader::RowReader(const TableCells& cells) : cells_(cells) {}

std::string RowReader::Text(std::string_view column) const { return TextIn(cells_, column); }

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
  if (text == "1" || EqualsIgnoreCase(text, "true") || EqualsIgnoreCase(text, "full")) return true;
  if (text == "0" || EqualsIgnoreCase(text, "false") || EqualsIgnoreCase(text, "none")) return false;
  Complain(std::string(column) + " '" + text.substr(0, 20) + "' is neither 1 nor 0");
  return std::nullopt;
}

ModelFacts RowReader::Model(const std::string& name) {
  const std::optional<ModelFacts> facts = FindModel(name);
  if (facts) return *facts;
  Complain("model '" + name.substr(0, 40) + "' is not in the built-in table");
  return {};
}

void RowReader::Complain(std::string message) {
  if (complaint_.empty()) complaint_ = std::move(message);
}

bool IsKnownColumn(std::string_view column) {
  return std::find(kColumns.begin(), kColumns.end(), column) != kColumns.end() ||
         std::find(kMoreColumns.begin(), kMoreColumns.end(), column) != kMoreColumns.end();
}

Result<RunRow> ReadRunRow(const TableCells& cells) {
  const TableFormat* format = FormatOf(cells);
  if (format == nullptr) return Fail("its columns are those of no table known; give a cell `framework`");
  RowReader reader(cells);
  RunRow row = format->read(reader);
  row.run.framework = format->framework;
  if (row.tokens_per_iter <= 0) row.tokens_per_iter = row.run.micro_batch * row.run.accumulation * row.run.sequence;
  if (row.s_per_iter && !row.tokens_s_per_gpu) row.tokens_s_per_gpu = row.tokens_per_iter / *row.s_per_iter;
  row.out_of_memory = TextIn(cells, "status") == "oom";
  if (!reader.complaint().empty()) return Fail(reader.complaint());
  return row;
}

}  // namespace idleburn
