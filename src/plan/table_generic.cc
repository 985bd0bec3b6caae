#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "plan/optimizer.h"
#include "plan/table_formats.h"

namespace idleburn {
namespace {

constexpr double kNf4 = 0.515875;  // double quantised (QLoRA paper)

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool Says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TuneMethod MethodOf(RowReader& reader, const ModelFacts& facts) {
  const std::string method = Lower(reader.Text("method"));
  const std::string bits = Lower(reader.Text("quantization"));
  if (Says(method, "qlora") || Says(bits, "nf4") || Says(bits, "4bit") || Says(bits, "int4")) return TuneMethod::kQlora;
  constexpr std::array<std::string_view, 5> kFull = {"full", "pre", "sft", "finetune", "dense"};
  for (const std::string_view full : kFull) {
    if (method.starts_with(full)) return TuneMethod::kAllWeights;
  }
  if (!method.empty()) return TuneMethod::kLora;
  const double trained = reader.Number("trainable_params", 0);
  const bool few = trained > 0 && trained < CountParams(facts).total() / 2;
  return few || reader.Number("rank", 0) > 0 ? TuneMethod::kLora : TuneMethod::kAllWeights;
}

void SetAdapters(RowReader& reader, RunRow& row) {
  constexpr double kRank = 16;
  constexpr std::array kAll = {LoraTarget::kQuery, LoraTarget::kKey, LoraTarget::kValue, LoraTarget::kOutput,
                               LoraTarget::kGate,  LoraTarget::kUp,  LoraTarget::kDown};
  RunConfig& run = row.run;
  run.bytes = {4, 0, 4, 8, 4, 2, 2};  // adapters in fp32
  run.adapter_rank = reader.Number("rank", kRank);
  run.trained = reader.Number("trainable_params", LoraParams(row.facts, run.adapter_rank, kAll));
  for (const LoraTarget target : kAll)
    run.adapter_inputs += 2 * ShapeOf(row.facts, target).in * static_cast<double>(row.facts.layers);
  if (run.method != TuneMethod::kQlora) return;
  run.bytes.frozen = kNf4;
  run.bytes.frozen_vocab = 4;  // raised to fp32 for k-bit training
}

void SetSharding(RowReader& reader, RunConfig& run) {
  const std::string text = Lower(reader.Text("sharding"));
  run.tensor_parallel = reader.Count("tp", DegreeIn(text, "tp"));
  run.pipeline_parallel = reader.Count("pp", DegreeIn(text, "pp"));
  run.context_parallel = reader.Count("cp", DegreeIn(text, "cp"));
  run.expert_parallel = reader.Count("ep", 1);
  run.virtual_stages = reader.Count("vp", 1);
  if (Says(text, "fsdp") || Says(text, "zero3") || Says(text, "full_shard") || Says(text, "z3") || text == "3") {
    run.sharding = Sharding::kZero3;
  } else if (Says(text, "grad_op") || Says(text, "zero2") || Says(text, "z2") || text == "2") {
    run.sharding = Sharding::kZero2;
  } else if (Says(text, "zero1") || text == "1") {
    run.sharding = Sharding::kZero1;
  } else if (text.empty() && run.DataParallel() > 1 && run.method == TuneMethod::kAllWeights) {
    run.sharding = Sharding::kZero3;  // full training on several GPUs is sharded as a rule
  }
}

}  // namespace

// A table of any framework, by the usual names of columns; nothing is known of its framework's defaults.
RunRow ReadAnyRow(RowReader& reader) {
  constexpr double kNode = 8;
  RunRow row;
  row.facts = reader.Model(reader.Text("model"));
  RunConfig& run = row.run;
  run.gpu = reader.Text("gpu");
  run.gpus = reader.Count("n_gpus", reader.Count("nodes", 1) * reader.Count("gpus_per_node", 1));
  run.nodes = reader.Count("nodes", std::ceil(run.gpus / kNode));
  run.sequence = reader.Count("seq_len");
  run.micro_batch = reader.Count("micro_batch");
  run.method = MethodOf(reader, row.facts);
  SetSharding(reader, run);
  const double replicas = std::max(1.0, run.DataParallel());
  const double batch = reader.Number("global_batch", 0);
  run.accumulation = reader.Count("grad_accum", std::max(1.0, batch / run.micro_batch / replicas));
  const std::string precision = Lower(reader.Text("precision"));
  run.fp4 = Says(precision, "fp4");
  run.fp8 = !run.fp4 && (Says(precision, "fp8") || reader.Switch("float8").value_or(false));
  run.bytes = {2, 4, 4, 8, 4, 2, 2};
  if (precision == "bf16" || precision == "bfloat16") run.bytes = {2, 0, 2, 4, 2, 2, 2};
  if (run.method != TuneMethod::kAllWeights) SetAdapters(reader, row);
  const Result<OptimizerFacts> optimizer = OptimizerNamed(reader.Text("optimizer"));
  if (optimizer) run.bytes.optimizer = run.bytes.weight > 2 ? optimizer->wide_bytes : optimizer->half_bytes;
  if (optimizer && run.bytes.master > 0) run.bytes.optimizer = optimizer->wide_bytes;
  const std::string stored = Lower(reader.Text("act_ckpt"));
  if (stored.starts_with("selective")) {
    run.checkpointing = Checkpointing::kSelective;
  } else if (reader.Switch("act_ckpt").value_or(false)) {
    run.checkpointing = Checkpointing::kWholeLayers;
  }
  run.compile = reader.Switch("compile").value_or(false);
  run.chunked_loss = reader.Switch("chunked_ce").value_or(false);
  run.offload = reader.Switch("cpu_offload").value_or(false);
  run.offload_activations = reader.Switch("act_offload").value_or(false);
  run.optimizer_in_backward = reader.Switch("optim_in_bwd").value_or(false);
  if (stored.empty()) AssumeUntilFits(row, std::nullopt, true);
  return row;
}

}  // namespace idleburn
