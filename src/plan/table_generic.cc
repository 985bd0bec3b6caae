#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <initializer_list>

#include "plan/frozen_base.h"
#include "plan/optimizer.h"
#include "plan/table_formats.h"

namespace idleburn {
namespace {

bool Says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool HasFourBits(const std::string& quantization) {
  return Says(quantization, "nf4") || Says(quantization, "fp4") ||
         IsOneOf(quantization, {"4bit", "bnb4bit", "int4", "4", "true"});
}

bool HasEightBits(RowReader& reader) {
  const std::string quantization = reader.Word("quantization");
  return Says(quantization, "int8") || IsOneOf(quantization, {"8bit", "bnb8bit", "8"}) ||
         reader.Switch("load_in_8bit").value_or(false);
}

BaseFormat BaseOf(RowReader& reader, TuneMethod method) {
  if (HasEightBits(reader)) return BaseFormat::kInt8;
  return method == TuneMethod::kQlora ? BaseFormat::kNf4 : BaseFormat::kAsIs;
}

TuneMethod MethodOf(RowReader& reader, const ModelFacts& facts) {
  const std::string method = reader.Word("method");
  if (Says(method, "qlora") || HasFourBits(reader.Word("quantization"))) return TuneMethod::kQlora;
  constexpr std::array<std::string_view, 6> kFull = {"full", "pre", "sft", "finetune", "dense", "fft"};
  for (const std::string_view full : kFull) {
    if (method.starts_with(full)) return TuneMethod::kAllWeights;
  }
  if (method == "none") return TuneMethod::kAllWeights;
  if (!method.empty()) return TuneMethod::kLora;
  const double trained = reader.Number("trainable_params", 0);
  const bool few = trained > 0 && trained < CountParams(facts).total() / 2;
  return few || reader.Number("rank", 0) > 0 ? TuneMethod::kLora : TuneMethod::kAllWeights;
}

void SetPrecision(RowReader& reader, RunConfig& run) {
  const std::string precision = reader.Word("precision");
  run.fp4 = Says(precision, "fp4");
  run.fp8 =
      !run.fp4 && (Says(precision, "fp8") || Says(precision, "float8") || reader.Switch("float8").value_or(false));
  run.wide = IsOneOf(precision, {"fp32", "float32", "torchfloat32", "32", "32true", "tf32", "float"});
  const bool pure = IsOneOf(precision, {"bf16", "bfloat16", "torchbfloat16", "bf16true", "16true"});
  run.bytes = {2, 4, 4, 8, 4, 2, 2};
  if (pure) run.bytes = {2, 0, 2, 4, 2, 2, 2};
  if (run.wide) run.bytes = {4, 0, 4, 8, 4, 4, 4};
}

void SetAdapters(RowReader& reader, RunRow& row) {
  constexpr double kRank = 16;
  constexpr std::array kAll = {LoraTarget::kQuery, LoraTarget::kKey, LoraTarget::kValue, LoraTarget::kOutput,
                               LoraTarget::kGate,  LoraTarget::kUp,  LoraTarget::kDown};
  RunConfig& run = row.run;
  run.bytes = {4, 0, 4, 8, 4, run.bytes.frozen, run.bytes.frozen_vocab};  // adapters in fp32
  run.adapter_rank = reader.Number("rank", kRank);
  run.trained = reader.Number("trainable_params", LoraParams(row.facts, run.adapter_rank, kAll));
  const ParamCounts counts = CountParams(row.facts);
  if (Says(reader.Word("method"), "emb")) run.trained_copy = counts.embedding + counts.head;
  for (const LoraTarget target : kAll)
    run.adapter_inputs += 2 * ShapeOf(row.facts, target).in * static_cast<double>(row.facts.layers);
  StoreBaseIn(BaseOf(reader, run.method), run);
}

// "zero3" of "lorazero3".
std::string Part(const std::string& text, std::string_view from) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? std::string() : text.substr(at);
}

void SetSharding(RowReader& reader, RunConfig& run) {
  // A method's name may say it too: "lora_zero3".
  const std::string text = reader.Says("method") && reader.Word("sharding").empty()
                               ? Part(reader.Word("method"), "zero")
                               : reader.Word("sharding");
  if (Says(text, "hybrid") || Says(text, "hsdp")) {
    reader.Complain("hybrid sharding (HSDP) is not modelled");
  }
  const auto stage = [&](const std::string& n) {
    return text == n || Says(text, "zero" + n) || Says(text, "stage" + n) || Says(text, "z" + n);
  };
  if (Says(text, "offload")) run.offload = true;
  // A column `fsdp` may be a switch; one of a stage never is.
  const bool on = IsOneOf(text, {"true", "yes", "on"}) || (text == "1" && reader.Says("fsdp"));
  if (on || stage("3") || Says(text, "fsdp") || Says(text, "fullshard")) {
    run.sharding = Sharding::kZero3;
  } else if (stage("2") || Says(text, "gradop")) {
    run.sharding = Sharding::kZero2;
  } else if (stage("1")) {
    run.sharding = Sharding::kZero1;
  } else if (text.empty() && run.DataParallel() > 1 && run.method == TuneMethod::kAllWeights) {
    // Full training on several GPUs is sharded as a rule; where the model is divided too, its optimizer alone is.
    const bool divided = run.tensor_parallel * run.pipeline_parallel > 1;
    run.sharding = divided ? Sharding::kZero1 : Sharding::kZero3;
  }
}

// How many GPUs, and how they divide the model.
void SetGpus(RowReader& reader, RunConfig& run) {
  const std::string degrees = reader.Word("sharding");
  run.tensor_parallel = reader.Count("tp", DegreeIn(degrees, "tp"));
  run.pipeline_parallel = reader.Count("pp", DegreeIn(degrees, "pp"));
  run.context_parallel = reader.Count("cp", DegreeIn(degrees, "cp"));
  run.expert_parallel = reader.Count("ep", 1);
  run.virtual_stages = reader.Count("vp", 1);
  const double model = run.tensor_parallel * run.pipeline_parallel * run.context_parallel;
  const double machines = reader.Count("nodes", 1) * reader.Count("gpus_per_node", 1);
  run.gpus = reader.Count("n_gpus", std::max(machines, model * reader.Count("dp", 1)));
  run.nodes = reader.Count("nodes", std::ceil(run.gpus / reader.Count("gpus_per_node", GpusOfNode(run.gpu))));
  if (run.gpus < model) reader.Complain("fewer GPUs than tp x pp x cp take");
}

// Sequences of one pass and passes of one step, from what is said of either and of the whole batch. What is not said is
// one pass a step; the row is a guess then.
void SetBatch(RowReader& reader, RunRow& row) {
  RunConfig& run = row.run;
  const double replicas = std::max(1.0, run.DataParallel());
  const double batch = reader.Number("global_batch", reader.Number("global_batch_tokens", 0) / run.sequence);
  const double said = reader.Number("micro_batch", 0);
  const double passes = reader.Number("grad_accum", 0);
  if (said <= 0 && batch <= 0) reader.Complain("no micro_batch");
  run.micro_batch = said > 0 ? said : std::max(1.0, batch / replicas / std::max(1.0, passes));
  run.accumulation = std::max(1.0, passes > 0 ? passes : batch / run.micro_batch / replicas);
  row.guessed = said <= 0 && passes <= 0;
}

void SetCheckpointing(RowReader& reader, RunConfig& run) {
  const std::string stored = reader.Word("act_ckpt");
  if (stored.starts_with("selective")) {
    run.checkpointing = Checkpointing::kSelective;
  } else if (IsOneOf(stored, {"unsloth", "block", "uniform", "reentrant", "alllayers", "everylayer"}) ||
             reader.Switch("act_ckpt").value_or(false)) {
    run.checkpointing = Checkpointing::kWholeLayers;
  } else if (stored.empty() && run.method == TuneMethod::kQlora) {
    run.checkpointing = Checkpointing::kWholeLayers;  // as PEFT prepares a model for training in 4 bits
  }
}

// A run that ran did fit its GPU: what is not said of it is taken to have been set as far as that took, the cheapest
// first.
void AssumeThatItFit(RowReader& reader, RunRow& row) {
  RunConfig& run = row.run;
  const bool full = run.method == TuneMethod::kAllWeights;
  const bool ran = reader.Word("status") != "oom";
  if (!ran) return;
  if (reader.Text("act_ckpt").empty() && !FitsItsGpu(row)) run.checkpointing = Checkpointing::kWholeLayers;
  if (reader.Text("sharding").empty() && run.DataParallel() > 1 && !FitsItsGpu(row)) run.sharding = Sharding::kZero3;
  if (reader.Text("precision").empty() && full && !FitsItsGpu(row)) run.bytes = {2, 0, 2, 4, 2, 2, 2};
  if (reader.Text("optimizer").empty() && full && !FitsItsGpu(row)) {
    run.bytes.optimizer = kEightBitStates;
    run.optimizer_in_backward = true;
  }
}

}  // namespace

// A table of any framework, by the usual names of columns; nothing is known of its framework's defaults.
RunRow ReadAnyRow(RowReader& reader) {
  RunRow row;
  row.facts = reader.Model(reader.Text("model"));
  RunConfig& run = row.run;
  run.gpu = reader.Text("gpu");
  run.sequence = reader.Count("seq_len");
  run.method = MethodOf(reader, row.facts);
  SetGpus(reader, run);
  SetSharding(reader, run);
  SetBatch(reader, row);
  SetPrecision(reader, run);
  if (run.method != TuneMethod::kAllWeights) SetAdapters(reader, row);
  const Result<OptimizerFacts> optimizer = OptimizerNamed(reader.Text("optimizer"));
  row.guessed = row.guessed || (!optimizer && !reader.Text("optimizer").empty());
  if (optimizer) run.bytes.optimizer = run.bytes.weight > 2 ? optimizer->wide_bytes : optimizer->half_bytes;
  if (optimizer && run.bytes.master > 0) run.bytes.optimizer = optimizer->wide_bytes;
  SetCheckpointing(reader, run);
  const std::string attention = reader.Word("attention");
  run.flash_attention = !IsOneOf(attention, {"eager", "0", "false", "no", "none", "off"});
  run.compile = reader.Switch("compile").value_or(false);
  run.chunked_loss = reader.Switch("chunked_ce").value_or(false);
  run.offload = run.offload || reader.Switch("cpu_offload").value_or(false);
  run.offload_activations = reader.Switch("act_offload").value_or(false);
  run.optimizer_in_backward = reader.Switch("optim_in_bwd").value_or(false);
  // Samples that are padded to their batch's longest are shorter than the sequence allows.
  const double tokens = reader.Number("train_tokens", 0);
  const double steps = reader.Number("steps", 0);
  const double replicas = std::max(1.0, run.DataParallel());
  if (tokens > 0 && steps > 0) {
    row.tokens_per_iter = tokens / steps / run.gpus;
    run.mean_sequence = std::min(run.sequence, tokens / steps / (run.micro_batch * run.accumulation * replicas));
  }
  AssumeThatItFit(reader, row);
  return row;
}

}  // namespace idleburn
